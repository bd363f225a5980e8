"""Lanes and shards with planted defects, as parts of an engine under test.

A defect is a subclass of a part of the engine, or a replacement for one of its functions. Every
part of a lane or shard that has the subclass's base class becomes an instance of the subclass; a
function is replaced only while the lane or shard works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import polars as pl

from chaos.simulator.case import PlannedBatch
from chaos.simulator.platform.job import SimulatedJob, Tables
from chaos.simulator.platform.parts import EngineParts
from windowing.engine.lane import Lane
from windowing.engine.parcel import Parcel
from windowing.engine.plan import Plan
from windowing.engine.shard import Emission, Shard
from windowing.engine.state import StateStore


@dataclass(frozen=True)
class Defect:
    """A planted defect.

    Attributes:
        kinds: subclasses of the parts of the engine that they replace.
        names: replacements for objects, by `module:name`.
    """

    kinds: tuple[type, ...]
    names: tuple[tuple[str, Any], ...]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Put the replacements in place for the duration of a block."""
        held = []
        for place, instead in self.names:
            module, _, name = place.partition(":")
            home = import_module(module)
            held.append((home, name, getattr(home, name)))
            setattr(home, name, instead)
        try:
            yield
        finally:
            for home, name, before in held:
                setattr(home, name, before)

    def plant(self, engine: object) -> None:
        """Turn every part of a lane or shard that has a base class of `kinds` into the subclass."""
        bases: dict[type, type] = {kind.__mro__[1]: kind for kind in self.kinds}
        known, left = set[int](), list(vars(engine).values())
        while left:
            part = left.pop()
            if isinstance(part, dict):
                left += part.values()
            elif isinstance(part, list | tuple):
                left += part
            elif _of_the_engine(part) and id(part) not in known:
                known.add(id(part))
                # Frozen dataclasses forbid plain assignment.
                object.__setattr__(part, "__class__", bases.get(type(part), type(part)))
                left += vars(part).values()


def _of_the_engine(part: object) -> bool:
    module = type(part).__module__
    ours = (
        module.startswith(("windowing.", "chaos.planted_bugs.")) and "windowing.model" not in module
    )
    return ours and hasattr(part, "__dict__")


class PlantedLane(Lane):
    """A lane with a defect."""

    def __init__(self, defect: Defect, plan: Plan, *args: Any, **options: Any) -> None:
        self._defect = defect
        with defect.at_work():
            super().__init__(plan, *args, **options)
        defect.plant(self)

    def step(self, store: StateStore, chunks: Sequence[pl.DataFrame]) -> list[Parcel]:  # noqa: D102
        with self._defect.at_work():
            return super().step(store, chunks)


class PlantedShard(Shard):
    """A shard with a defect."""

    def __init__(self, defect: Defect, plan: Plan, *args: Any, **options: Any) -> None:
        self._defect = defect
        with defect.at_work():
            super().__init__(plan, *args, **options)
        defect.plant(self)

    def step(  # noqa: D102
        self, store: StateStore, parcels: Sequence[Parcel], wall_us: int | None = None
    ) -> Emission:
        with self._defect.at_work():
            return super().step(store, parcels, wall_us)


class PlantedJob(SimulatedJob):
    """A job with a defect in how its workers decode values."""

    def __init__(self, defect: Defect, *args: Any) -> None:
        self._defect = defect
        super().__init__(*args)

    def _execute(self, batch: int, step: PlannedBatch) -> Tables:
        with self._defect.at_work():
            return super()._execute(batch, step)


@dataclass(frozen=True)
class lanes_of:  # noqa: N801 - called like the function `parts.lanes`; a class to be picklable
    """A factory for lane factories.

    Attributes:
        make: makes a lane of a plan and the number of its partition.
    """

    make: Callable[..., Lane]

    def __call__(self, plan: Plan) -> Callable[[int], Lane]:
        """Return a factory for the lanes of partitions."""
        return partial(self.make, plan)


def planted(
    name: str,
    *kinds: type,
    names: Mapping[str, Any] | None = None,
    lane: type[PlantedLane] = PlantedLane,
    shard: type[PlantedShard] = PlantedShard,
    shared: bool = False,
) -> EngineParts:
    """Make an engine whose lanes and shards have a defect.

    Args:
        name: the engine's name.
        kinds: as in `Defect`.
        names: as in `Defect`.
        lane: the class of lanes, if their own methods are defective.
        shard: the class of shards, if their own methods are defective.
        shared: whether queries share slices wherever they can.
    """
    defect = Defect(kinds, tuple((names or {}).items()))
    lanes, shards = lanes_of(partial(lane, defect)), partial(shard, defect)
    return EngineParts(name, lanes=lanes, shard=shards, shared=shared)


def reading(name: str, **names: Any) -> EngineParts:
    """Make an engine that reads values with a defect, on both the slow and the fast path.

    Args:
        name: the engine's name.
        names: replacements for objects, by names that exist in the modules of both paths.
    """
    places = {
        f"{module}:{one}": instead
        for one, instead in names.items()
        for module in ("windowing.engine.input.values", "windowing.engine.input.decode")
    }
    return EngineParts(name, job=partial(PlantedJob, Defect((), tuple(places.items()))))
