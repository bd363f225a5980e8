"""Lanes and shards with something planted in them, made the way `Parts` wants it.

A defect is a class derived from a part of the engine, or a function in the place of one of its
functions. Whatever part of a lane or shard is of a planted class's base becomes one of that class;
a function is replaced while the lane or shard works, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import polars as pl

from chaos.simulator.case import Step
from chaos.simulator.platform.job import Job, Tables
from chaos.simulator.platform.parts import Parts
from windowing.engine.lane import Lane
from windowing.engine.parcel import Parcel
from windowing.engine.plan import Plan
from windowing.engine.shard import Emission, Shard
from windowing.engine.state import StateStore


@dataclass(frozen=True)
class Defect:
    """What is planted.

    Attributes:
        kinds: classes, each derived from the part of the engine that it takes the place of.
        names: what stands under `module:name` instead.
    """

    kinds: tuple[type, ...]
    names: tuple[tuple[str, Any], ...]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Have the names stand for something else."""
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
        """Turn every part of a lane or shard that is of a planted class's base into that class."""
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
                # Of frozen parts, too.
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


class PlantedJob(Job):
    """A job with a defect in what its workers do: it reads values before a lane sees them."""

    def __init__(self, defect: Defect, *args: Any) -> None:
        self._defect = defect
        super().__init__(*args)

    def _execute(self, batch: int, step: Step) -> Tables:
        with self._defect.at_work():
            return super()._execute(batch, step)


@dataclass(frozen=True)
class lanes_of:  # noqa: N801 - called like the function `parts.lanes`; a class to be picklable
    """Makes what makes the lanes of a pipeline.

    Attributes:
        make: makes a lane of a plan and the number of its partition.
    """

    make: Callable[..., Lane]

    def __call__(self, plan: Plan) -> Callable[[int], Lane]:
        """What makes the lane of a partition."""
        return partial(self.make, plan)


def planted(
    name: str,
    *kinds: type,
    names: Mapping[str, Any] | None = None,
    lane: type[PlantedLane] = PlantedLane,
    shard: type[PlantedShard] = PlantedShard,
) -> Parts:
    """An engine whose lanes and shards have a defect.

    Args:
        name: of the engine.
        kinds: as `Defect` has them.
        names: as `Defect` has them.
        lane: the class of lanes, where their own methods are the defect.
        shard: the class of shards, where theirs are.
    """
    defect = Defect(kinds, tuple((names or {}).items()))
    return Parts(name, lanes=lanes_of(partial(lane, defect)), shard=partial(shard, defect))


def reading(name: str, **names: Any) -> Parts:
    """An engine that reads values with a defect, the slow way as well as the fast one.

    Args:
        name: of the engine.
        names: what both ways know by these names, and what stands there instead.
    """
    places = {
        f"{module}:{one}": instead
        for one, instead in names.items()
        for module in ("windowing.engine.input.values", "windowing.engine.input.decode")
    }
    return Parts(name, job=partial(PlantedJob, Defect((), tuple(places.items()))))
