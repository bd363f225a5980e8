"""Engines with defects in what they believe of control records, on logs by somebody hostile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from chaos.planted_bugs.planted import Defect, PlantedLane, planted
from chaos.simulator.case import PlannedBatch
from chaos.simulator.platform.job import SimulatedJob
from chaos.simulator.platform.parts import EngineParts
from windowing.engine.input.gate import Gate, Opened
from windowing.model.control import Believes


class CommandedJob(SimulatedJob):
    """A job with a defect in its driver and in its workers alike, but not in what judges it."""

    def __init__(self, defect: Defect, *args: Any) -> None:
        self._defect = defect
        with defect.at_work():
            super().__init__(*args)

    def step(self, step: PlannedBatch) -> None:  # noqa: D102
        with self._defect.at_work():
            super().step(step)


def believing(name: str, names: Mapping[str, Any]) -> EngineParts:
    """Make an engine that judges control records, or changes of the queries, with a defect.

    Args:
        name: the engine's name.
        names: replacements for objects, by `module:name`.
    """
    job = partial(CommandedJob, Defect((), tuple(names.items())))
    return EngineParts(name, job=job, hostile=True)


class Misreading(Gate):
    """Reads one rule for control records as another; a bug says which."""

    said: ClassVar[Believes]
    read: ClassVar[Believes]

    def open(self, control: bytes) -> Opened:  # noqa: D102
        if self.rule.believe != self.said:
            return super().open(control)
        rule = self.rule.model_copy(update={"believe": self.read})
        return Gate.open(replace(self, rule=rule), control)


def with_gate(name: str, gate: type[Gate], names: Mapping[str, Any] | None = None) -> EngineParts:
    """Make an engine whose lanes let control records in by another rule; see `believing`."""
    return believing(name, {"windowing.engine.input.values:Gate": gate, **(names or {})})


def with_lane(name: str, lane: type[PlantedLane]) -> EngineParts:
    """Make an engine with a defect in its lanes."""
    return replace(planted(name, lane=lane), hostile=True)


class Everything:
    """What has everything, in place of a set."""

    def __contains__(self, _: object) -> bool:
        return True

    def __ge__(self, _: object) -> bool:
        return True


EVERYTHING: Any = Everything()
