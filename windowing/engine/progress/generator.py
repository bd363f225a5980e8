"""What the engine's half of every generator of progress is, and all of them by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import polars as pl

from windowing.engine.wids import NOTHING_YET, Ints
from windowing.model.registry import PluginError, Registry


class Generator(Protocol):
    """One lane's promises, a chunk at a time.

    What it must remember from chunk to chunk is a list of integers, which the lane keeps for it.
    """

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """The bound after each record, NOTHING_YET for none; `memory` is brought up to date.

        Args:
            records: the lane's next data records, with `ts_us` and a column for every field.
            memory: what the generator remembers; empty at first.
        """

    def observed(self, instants_us: Ints) -> Ints:
        """The bounds that follow from instants which the true clock had reached by then."""


class OwnRecords:
    """A generator that concludes nothing from clocks and other lanes."""

    def observed(self, instants_us: Ints) -> Ints:
        """No bound."""
        return np.full(len(instants_us), NOTHING_YET, dtype=np.int64)


Make = Callable[[Any, str], Generator]
"""From the data of a generator, and the name of a lane, to the bounds of that lane."""

LANE_GENERATORS: Final = Registry[Make]("lane_generator", "lane_generators")
"""The engine's half of every generator, by its name."""

_Class = TypeVar("_Class", bound=type)


def lane_generator(name: str) -> Callable[[_Class], _Class]:
    """Register the decorated class as the engine's half of the generator of this name.

    It is made of the generator's data and a lane's name, `Class(data, lane)`.

    Raises:
        PluginError: the class is no `Generator`, or there is another of this name.
    """

    def register(class_: _Class) -> _Class:
        origin = f"{class_.__module__}.{class_.__qualname__}"
        if lacking := [one for one in ("bounds", "observed") if not hasattr(class_, one)]:
            msg = f"{origin} cannot be the generator {name!r}: it lacks {', '.join(lacking)}"
            raise PluginError(msg)
        LANE_GENERATORS.add(name, class_, origin)
        return class_

    return register
