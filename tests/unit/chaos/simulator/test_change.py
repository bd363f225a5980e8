"""Logs that change the queries: what the simulated driver does, and what is drawn."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import msgspec
import pytest

from chaos.simulator.case import Case, Event, Failure, PlannedBatch, record
from chaos.simulator.draw.wish import Wish
from chaos.simulator.platform.job import SimulatedJob
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.run import draw_case, run_case
from windowing.model import Query, parse_pipeline
from windowing.semantics import evaluate
from windowing.semantics.view import effective

PIPELINE = """
name: p
source: {topic: s, partitions: 2, format: json, event_time: {field: ts, unit: us},
  fields: {g: string}, disorder: {slack: 2 us}, control: all}
late: {policy: dead_letter}
shards: 2
queries:
  q: {window: RANGE 10 us SLIDE 10 us WATTR ts, group_by: [g], aggregates: {n: count}}
"""
JOINS = {
    "window": "RANGE 20 us SLIDE 10 us WATTR ts",
    "group_by": ["g"],
    "aggregates": {"n": "count"},
    "from": 20,
}
ADD = {"control": {"queries": {"add": {"new": JOINS}}}}
REMOVE = {"control": {"queries": {"remove": {"q": 30}}}}
END = {"control": {"end": True}}


def data(ts: int) -> Event:
    return {"value": {"ts": ts, "g": "a"}}


def lane(number: int, *contents: Event) -> tuple[Event, ...]:
    place = {"source": "s", "partition": number}
    return tuple({**place, "offset": at, **content} for at, content in enumerate(contents))


LANES = (
    lane(0, data(1), data(12), ADD, data(21), data(25), REMOVE, data(33), data(44), END),
    lane(1, data(2), data(5), data(15), ADD, data(28), REMOVE, data(31), data(45), END),
)
CHANGED, DIED = "queries changed", "driver dies in a change of the pipeline"


def case(*plan: PlannedBatch, lanes: tuple[tuple[Event, ...], ...] = LANES) -> Case:
    return Case("by hand", "slackwater", PIPELINE, lanes, plan)


def ends_of(lanes: tuple[tuple[Event, ...], ...]) -> dict[str, set[int]]:
    log = [record(event) for one in lanes for event in one]
    found: dict[str, set[int]] = {}
    for row in evaluate(parse_pipeline(PIPELINE), log).rows:
        found.setdefault(row.query, set()).add(row.window_end_us)
    return found


def test_the_log_by_hand() -> None:
    """The query that joins has whole windows alone; the one that leaves, none after its end."""
    assert ends_of(LANES) == {"q": {10, 20, 30}, "new": {40, 50, 60}}
    late = (LANES[0], lane(1, data(2), data(5), data(15), data(28), ADD, REMOVE, END))
    assert ends_of(late) == {"q": {10, 20, 30}}


@pytest.mark.parametrize(
    ("dies", "fused"), [(None, True), (0, False), (1, True), (3, True), (5, False), (6, False)]
)
def test_a_change_is_made_whole_wherever_the_driver_dies(dies: int | None, *, fused: bool) -> None:
    plan = (PlannedBatch(take=(2, 2)), PlannedBatch(take=(3, 3), dies_in_change=dies))
    result = run_case(
        msgspec.structs.replace(case(*plan), fused=fused, tables=not fused), EngineParts()
    )
    assert not result.findings
    assert result.faults[CHANGED] >= 2
    assert result.faults[DIED] == (dies is not None)


@pytest.mark.parametrize(
    "step",
    [
        PlannedBatch(take=(3, 3), restore=1),
        PlannedBatch(take=(3, 3), lose_commit=True),
        PlannedBatch(take=(3, 3), lose_table=1),
        PlannedBatch(take=(3, 3), damage=2),
        PlannedBatch(take=(3, 3), rewind=3),
        PlannedBatch(take=(3, 3), rival="same batch"),
        PlannedBatch(take=(3, 3), rival="plans first"),
        PlannedBatch(take=(3, 3), failures=(Failure("driver dies among the tables", 1),)),
        PlannedBatch(take=(3, 3), failures=(Failure("driver dies before the commit entry"),)),
    ],
)
def test_faults_around_a_change_change_nothing(step: PlannedBatch) -> None:
    """A query joins in the batch before the fault; another leaves in that with the fault."""
    result = run_case(case(PlannedBatch(take=(3, 4)), step), EngineParts())
    assert not result.findings
    assert result.faults[CHANGED] >= 2


def test_a_change_in_the_first_batch_needs_no_state() -> None:
    result = run_case(case(), EngineParts())
    assert not result.findings
    assert result.faults[CHANGED]


class _OldFile(SimulatedJob):
    """A job that continues with the converted state, and with the old pipeline."""

    def change(self, after: object, batch: int, dies_at: int | None) -> None:
        before = self._pipeline
        super().change(after, batch, dies_at)  # type: ignore[arg-type]
        self._adopt(before)


def test_a_job_that_keeps_its_old_plan_is_found() -> None:
    plan = (PlannedBatch(take=(2, 2)), PlannedBatch(take=(3, 3)))
    found = run_case(case(*plan), EngineParts("old", job=_OldFile)).findings
    assert {finding.check for finding in found} == {"no error"}


def test_what_is_drawn() -> None:
    """Queries join and leave, in some lanes alone; some copies are too late; a run changes them."""
    wish = Wish(classes=("sliding", "keyed sliding"), queries_max=1)
    parts, seen = replace(EngineParts(), changes=True, wish=wish), Counter[str]()
    for number in range(25):
        drawn = draw_case(11, number, parts)
        pipeline = parse_pipeline(drawn.pipeline)
        if pipeline.source.dense:
            continue  # it may have holes, and so no result
        log = [record(event) for one in drawn.lanes for event in one]
        copies = [one for one in log if one.control is not None and b'"queries"' in one.control]
        if not copies:
            continue
        seen["drawn"] += 1
        seen["missing"] += len(copies) % len(drawn.lanes) != 0
        for query in effective(pipeline, log).of(Query):
            active = query.window.active
            if active is not None:
                seen["joined"] += active.joined is not None
                seen["in some lanes"] += 0 < len(active.joined or ()) < len(drawn.lanes)
                seen["left"] += active.left is not None
        dead = evaluate(pipeline, log).dead
        seen["late"] += any(letter.reason == "change_too_late" for letter in dead)
        seen["a death"] += any(step.dies_in_change is not None for step in drawn.plan)
    wanted = ("drawn", "missing", "joined", "in some lanes", "left", "late", "a death")
    assert not [what for what in wanted if not seen[what]], seen
