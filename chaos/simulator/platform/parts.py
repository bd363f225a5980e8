"""The parts of an engine under test; a planted bug replaces one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chaos.simulator.draw.wish import Wish
from chaos.simulator.platform.job import SimulatedJob
from chaos.simulator.platform.tasks import EngineUnderTest

if TYPE_CHECKING:
    from windowing.model.file.pipeline import Pipeline


def anywhere(_: Pipeline) -> bool:
    """Accept any pipeline."""
    return True


@dataclass(frozen=True)
class EngineParts(EngineUnderTest):
    """The parts of an engine, and the cases that are drawn for it.

    For the real engine all is drawn that can be. For one with a bug, most of it is left out: it has
    to ask for what the bug needs.

    Attributes:
        wish: constraints on drawn cases, such as the window class that a bug needs.
        strict: whether redeliveries may be drawn as errors.
        fused: whether to run the fused plan wherever it applies.
        shared: whether queries share slices wherever they can.
        changes: whether logs change the queries wherever they can.
        hostile: whether somebody hostile writes to the log, too.
        joins: whether a lane joins between two batches wherever one can.
        disk: whether rows go to tables on a disk.
        tuning: thresholds that a planted bug needs; all others are drawn.
        shows_in: the pipelines in which a planted bug can show.
    """

    job: Callable[..., SimulatedJob] = SimulatedJob
    wish: Wish = field(default_factory=Wish)
    strict: bool = False
    fused: bool = False
    shared: bool = False
    changes: bool = False
    hostile: bool = False
    joins: bool = False
    disk: bool = False
    tuning: Mapping[str, int] = field(default_factory=dict)
    shows_in: Callable[[Pipeline], bool] = anywhere
