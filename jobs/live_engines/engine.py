"""A live engine in one mode, as it is asked for and as it runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from windowing.research.prober.experiments import Box


@dataclass(frozen=True)
class RunningEngine:
    """An engine that runs.

    Attributes:
        box: takes experiments.
    """

    box: Box
    version: str


@dataclass(frozen=True)
class LiveEngine:
    """An engine in one mode.

    Attributes:
        name: as in commands.
        mode: the mode, likewise.
        profile: the profile that should describe it; None: the model is known not to express it.
        opened: starts it, and ends it afterwards.
    """

    name: str
    mode: str
    title: str
    profile: str | None
    opened: Callable[[], AbstractContextManager[RunningEngine]]
