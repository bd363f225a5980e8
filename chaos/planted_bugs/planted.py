"""Plant a defect: declare, beside a replacement, which part of the engine it replaces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from unittest.mock import patch

from chaos.simulator.case import PlannedBatch
from chaos.simulator.platform.cluster import SimulatedCluster
from chaos.simulator.platform.job import SimulatedJob
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.sink import SimulatedSink
from chaos.simulator.platform.state import StateFiles
from chaos.simulator.verdict.checks import CHECKS, SimulatorCheck
from windowing.engine.fused.settler import Settler
from windowing.engine.lane import Lane
from windowing.engine.shard import Shard

Replacement = TypeVar("Replacement")

_PARTS: dict[type, str] = {
    Shard: "shard",
    Settler: "settler",
    StateFiles: "state",
    SimulatedSink: "sink",
    SimulatedCluster: "cluster",
    SimulatedJob: "job",
}


@dataclass(frozen=True)
class PlantedBug:
    """An engine with a planted bug.

    Attributes:
        expected: the checks that may find the bug; at least one of them must.
    """

    parts: EngineParts
    expected: frozenset[SimulatorCheck]

    @property
    def name(self) -> str:
        return self.parts.name


PLANTED_BUGS: dict[str, PlantedBug] = {}
"""All planted bugs by name, once every room has been imported."""


def planted(
    name: str,
    expected: str,
    *,
    at: str | Sequence[str] = (),
    also: Mapping[str, Any] | None = None,
    kinds: Sequence[type] = (),
    **parts: Any,
) -> Callable[[Replacement], Replacement]:
    """Declare a planted bug: what is decorated, or given to the result, is the defect.

    It replaces what `at` names. Without `at`, a class replaces its base class: a lane, a shard, a
    part of the platform, or any other part of the engine; a function makes the factory of lanes.

    Args:
        expected: the checks that may find the bug, separated by commas.
        at: the names that it replaces while the job works, as `module:name` or, of a method,
            `module:class.name`.
        also: other replacements, by `module:name`.
        kinds: other classes that replace their base classes in lanes and shards.
        parts: other fields of `EngineParts`, such as `shows_in` and `wish`.
    """
    asked = expected.split(", ")
    for check in asked:
        if check not in CHECKS:
            msg = f"no such check: {check!r}; there are {', '.join(CHECKS)}"
            raise ValueError(msg)
    checks = frozenset(check for check in CHECKS if check in asked)

    def plant(replacement: Replacement) -> Replacement:
        names = dict.fromkeys([at] if isinstance(at, str) else at, replacement)
        fields = {} if names else _fields(replacement, kinds)
        if names or also:
            fields["job"] = partial(PlantedJob, {**names, **(also or {})})
        PLANTED_BUGS[name] = PlantedBug(EngineParts(name, **fields, **parts), checks)
        return replacement

    return plant


def _fields(replacement: Any, kinds: Sequence[type]) -> dict[str, Any]:
    """Return the fields of `EngineParts` for a replacement without a name."""
    if not isinstance(replacement, type):
        return {"lanes": replacement}
    if issubclass(replacement, Lane):
        return {"lanes": partial(partial, replacement)}
    own = {field: replacement for part, field in _PARTS.items() if issubclass(replacement, part)}
    kinds = (replacement, *kinds)
    return own or {
        "lanes": partial(partial, partial(_made, Lane, kinds)),
        "shard": partial(_made, Shard, kinds),
    }


def _made(make: Callable[..., object], kinds: Sequence[type], *args: Any) -> object:
    engine = make(*args)
    plant(engine, *kinds)
    return engine


def plant(engine: object, *kinds: type) -> None:
    """Turn every part of a lane or shard that has the base class of a kind into that kind."""
    bases: dict[type, type] = {kind.__mro__[1]: kind for kind in kinds}
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


@contextmanager
def replaced(names: Mapping[str, Any]) -> Iterator[None]:
    """Put replacements in place of names, given as `module:name`, for the duration of a block."""
    with ExitStack() as held:
        for place, instead in names.items():
            held.enter_context(patch(place.replace(":", "."), instead))
        yield


class PlantedJob(SimulatedJob):
    """A job with replacements in its driver and its workers, but not in what judges it."""

    def __init__(self, names: Mapping[str, Any], *args: Any) -> None:
        self._names = names
        with replaced(names):
            super().__init__(*args)

    def step(self, step: PlannedBatch) -> None:
        with replaced(self._names):
            super().step(step)
