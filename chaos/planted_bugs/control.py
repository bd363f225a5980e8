"""Defects of what is believed of control records: rules, lengths, signatures, counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import polars as pl

from chaos.planted_bugs.conditions import several_lanes, some_flow
from chaos.planted_bugs.planted import planted
from chaos.simulator.platform.cluster import SimulatedCluster
from chaos.simulator.platform.job import SimulatedJob
from windowing.engine.lane import Lane, LaneState
from windowing.engine.reading.control import ControlVerdict, Gate
from windowing.engine.storage.state import StateStore
from windowing.model.control import Believes, ControlEnvelope, ControlRule
from windowing.model.file.allowed import names_too_much
from windowing.model.file.pipeline import Pipeline


class MisreadingGate(Gate):
    """Reads one rule for control records as another; a bug says which."""

    said: ClassVar[Believes]
    read: ClassVar[Believes]

    def open(self, control: bytes) -> ControlVerdict:
        if self.rule.believe != self.said:
            return super().open(control)
        rule = self.rule.model_copy(update={"believe": self.read})
        return Gate.open(replace(self, rule=rule), control)


def whatever_it_names(
    pipeline: Pipeline, lane: str, offset: int, added: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Ask whoever believes everything."""
    if pipeline.source.control.believe == "bounds":
        return False
    return names_too_much(pipeline, lane, offset, added)


_GATE = "windowing.engine.reading.rules:Gate"


# A lane that takes changes of the queries although its source believes bounds alone. How one gets
# it: a rule with three values is kept as a flag with two.
@planted(
    "change_believed_although_bounds",
    "dead letters, deterministic, conservation, no error",
    at=_GATE,
    also={"windowing.model.file.changes:names_too_much": whatever_it_names},
    hostile=True,
)
class BelievesChanges(MisreadingGate):
    said = "bounds"
    read = "all"


planted_in_control = partial(
    planted, expected="dead letters, deterministic, conservation, progress, closing", hostile=True
)


# A lane that believes bounds and ends although its source believes no control records. How one
# gets it: the rule is asked where changes are read, and nowhere else.
@planted_in_control("control_believed_although_none", at=_GATE)
class BelievesBounds(MisreadingGate):
    said = "none"
    read = "bounds"


class LengthlessRule(ControlRule):
    def bytes_max(self, lanes: int, *, change: bool) -> int:
        del lanes, change
        return 1 << 40


# A lane that parses control records of any length. How one gets it: the broker's limit is taken
# for enough.
@planted(
    "control_of_any_length",
    "dead letters, deterministic, conservation, progress",
    at=_GATE,
    hostile=True,
)
class PatientGate(Gate):
    @classmethod
    def of(cls, pipeline: Pipeline, number: int) -> Self:
        known = Gate.of(pipeline, number)
        rule = LengthlessRule.model_construct(**dict(known.rule))
        return cls(rule, known.lane, known.lanes)


class _Counter:
    """The largest counter of a run."""

    largest = -1


class CommonJob(SimulatedJob):
    """Gives its lanes one counter."""

    def _new_cluster(self) -> SimulatedCluster:
        SharedCounterLane.counter = _Counter()
        return super()._new_cluster()


# Lanes that have one counter together. How one gets it: the writer has one counter, so the reader
# is given one, too.
@planted(
    "counter_of_all_lanes",
    "dead letters, deterministic, conservation, progress, closing, repeatable",
    hostile=True,
    job=CommonJob,
    shows_in=some_flow(several_lanes),
)
class SharedCounterLane(Lane):
    counter = _Counter()

    def _once(self, chunk: pl.DataFrame, state: LaneState) -> pl.DataFrame:
        state.counter = max(state.counter, self.counter.largest)
        found = super()._once(chunk, state)
        self.counter.largest = max(state.counter, self.counter.largest)
        return found


# A lane that knows the counters of a batch, and not those before it. How one gets it: counters
# are compared where a batch is read.
@planted_in_control("counter_of_the_batch")
class ForgetfulCounterLane(Lane):
    def _load(self, store: StateStore) -> LaneState:
        state = super()._load(store)
        state.counter = -1
        return state


# A lane that believes every control record that has the headers of a signature. How one gets it:
# the header is taken for the proof.
@planted(
    "signature_not_checked",
    "dead letters, deterministic, conservation, progress, closing, no error",
    at="windowing.model.control:ControlEnvelope",
    hostile=True,
)
class CredulousEnvelope(ControlEnvelope):
    def checked(self, secret: bytes, lane: str) -> int | None:
        del secret, lane
        counter = self.counter or b""
        digits = self.signature is not None and counter.isdigit() and len(counter) <= 18
        return int(counter) if digits else None


_LANES = 16


# A lane that believes what was signed for another one. How one gets it: the signature covers the
# record, and not the place that it was made for.
@planted_in_control("signature_of_another_lane", at="windowing.model.control:ControlEnvelope")
class WidespreadEnvelope(ControlEnvelope):
    def checked(self, secret: bytes, lane: str) -> int | None:
        topic, own = lane.rpartition("/")[0], super().checked(secret, lane)
        others = (
            super(WidespreadEnvelope, self).checked(secret, f"{topic}/{n}") for n in range(_LANES)
        )
        return own if own is not None else next((n for n in others if n is not None), None)


# A lane that believes a signed control record as often as it comes. How one gets it: a signature
# shows who wrote a record, and not when.
@planted_in_control("signed_record_believed_again")
class ForgivingLane(Lane):
    def _once(self, chunk: pl.DataFrame, state: LaneState) -> pl.DataFrame:
        super()._once(chunk, state)
        return chunk
