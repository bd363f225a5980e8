"""The protocol of the engine's half of generators, and their registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import polars as pl

from windowing.engine.wids import NOTHING_YET, Ints
from windowing.model.registry import PluginError, Registry


class Generator(Protocol):
    """One lane's bounds, a chunk at a time.

    Its state between chunks is a list of integers, which the lane stores.
    """

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """Return the bound after each record, NOTHING_YET for none; updates `memory`.

        Args:
            records: the lane's next data records, with `ts_us` and a column for every field.
            memory: the generator's state; empty at first.
        """

    def observed(self, instants_us: Ints) -> Ints:
        """Return the bounds that follow from instants that true time had reached."""


class OwnRecords:
    """A generator that ignores clocks and other lanes."""

    def observed(self, instants_us: Ints) -> Ints:
        """Return no bounds."""
        return np.full(len(instants_us), NOTHING_YET, dtype=np.int64)


Make = Callable[[Any, str], Generator]
"""A function from a generator's data and a lane's name to that lane's generator."""

LANE_GENERATORS: Final = Registry[Make]("lane_generator", "lane_generators")
"""The engine's half of every generator, by its name."""

MEMORYLESS: Final = set[str]()
"""The generators whose bounds follow from each record alone, whatever came before it."""

_Class = TypeVar("_Class", bound=type)


def lane_generator(name: str, *, memoryless: bool = False) -> Callable[[_Class], _Class]:
    """Register the decorated class as the engine's half of the generator of this name.

    It is instantiated as `Class(data, lane)`, with the generator's data and a lane's name.

    Args:
        name: of the generator.
        memoryless: whether a bound follows from its record alone. Chunks can then be read apart.

    Raises:
        PluginError: the class is not a `Generator`, or the name is taken.
    """

    def register(class_: _Class) -> _Class:
        origin = f"{class_.__module__}.{class_.__qualname__}"
        if lacking := [one for one in ("bounds", "observed") if not hasattr(class_, one)]:
            msg = f"{origin} cannot be the generator {name!r}: it lacks {', '.join(lacking)}"
            raise PluginError(msg)
        LANE_GENERATORS.add(name, class_, origin)
        if memoryless:
            MEMORYLESS.add(name)
        return class_

    return register
