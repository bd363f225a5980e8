"""Lanes that join a simulated job between two batches."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import msgspec
import pytest

from chaos.simulator.added_lanes import standing, with_lanes_of
from chaos.simulator.case import Case, Event, PlannedBatch, record
from chaos.simulator.draw.joining import with_joining
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.run import RunResult, draw_case, history_of, run_case
from chaos.simulator.verdict.checks import judge
from tests.sampling import sampled
from windowing.model import parse_pipeline

PIPELINE = """
name: grows
source:
  topic: s
  partitions: 2
  format: json
  event_time: {{field: ts, unit: us}}
  fields: {{g: string}}
  disorder: {disorder}
  joined: {{s/1: {{lane: 1, at: {{ts: {at}}}}}}}
late: {{policy: dead_letter}}
retention: 0 us
shards: 2
queries:
  q:
    window: RANGE 10 us SLIDE 10 us WATTR ts
    group_by: [g]
    aggregates: {{n: count}}
"""


BEATS = "{max_delay: 0 us, min_delay: 0 us, skew: 0 us}"


def lane(partition: int, *times: int, end: bool = True) -> tuple[Event, ...]:
    events: list[Event] = [{"value": {"ts": ts, "g": "a"}} for ts in times]
    events += [{"control": {"end": True}}] if end else []
    return tuple(
        {"source": "s", "partition": partition, "offset": offset, **event}
        for offset, event in enumerate(events)
    )


LOG = (lane(0, 5, 15, 25), lane(1, 12, 26))
FIRST, JOINS = PlannedBatch(take=(2, 2)), PlannedBatch(take=(1, 1), joins=True)


def case(*plan: PlannedBatch, at: int = 15, disorder: str = "ordered", **setup: object) -> Case:
    text = PIPELINE.format(at=at, disorder=disorder)
    return msgspec.structs.replace(Case("by hand", "slackwater", text, LOG, plan), **setup)


def ran(*plan: PlannedBatch, **setup: object) -> RunResult:
    return run_case(case(*plan, **setup), EngineParts())  # type: ignore[arg-type]


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("disk", [False, True])
@pytest.mark.parametrize("disorder", ["ordered", f"{{heartbeat: {{s/0: {BEATS}, s/1: {BEATS}}}}}"])
def test_a_lane_joins_from_the_state_that_there_is(fused: bool, disk: bool, disorder: str) -> None:
    result = ran(FIRST, JOINS, fused=fused, disk=disk, disorder=disorder)
    assert not result.findings
    assert result.faults["lane joined"] == 1
    assert {"lane added to state", "added lane"} <= result.mechanisms


def test_before_it_joins_nothing_is_read_of_it() -> None:
    assert history_of(case(FIRST, JOINS), EngineParts()).ends == [(2, 0), (3, 1), (4, 3)]
    rival = PlannedBatch(take=(2, 2), rival="plans first")
    assert history_of(case(rival, JOINS), EngineParts()).ends[0][1] == 0


AFTERWARDS = (
    PlannedBatch(take=(1, 0), restore=2),
    PlannedBatch(take=(1, 0), lose_commit=True),
    PlannedBatch(take=(1, 0), damage=1),
    PlannedBatch(take=(1, 0), damage=3),
    PlannedBatch(take=(1, 0), lose_table=0),
    PlannedBatch(take=(1, 0), shards=3),
    PlannedBatch(take=(1, 0), rival="same batch"),
)
IN_A_BATCH_OR_NOT = (JOINS, PlannedBatch(joins=True))


@pytest.mark.parametrize(
    ("later", "joins", "disk"),
    sampled(product(AFTERWARDS, IN_A_BATCH_OR_NOT, [False, True]), every=3),
)
def test_what_befalls_the_job_afterwards_changes_nothing(
    later: PlannedBatch, joins: PlannedBatch, disk: bool
) -> None:
    result = ran(PlannedBatch(take=(1,) * 2), PlannedBatch(take=(1, 0)), joins, later, disk=disk)
    assert not result.findings
    assert result.faults["lane joined"] == 1


def test_a_lane_that_joins_too_early_is_refused_as_it_should_be() -> None:
    early = case(FIRST, JOINS, at=14)
    history = history_of(early, EngineParts())
    assert history.error_kind == "CheckpointMismatch"
    assert "windows have closed without it" in str(history.error)
    assert not run_case(early, EngineParts()).findings
    # The same refusal of a lane that joins where the others are is a defect.
    fine, lanes = case(FIRST, JOINS, at=15), [[record(event) for event in own] for own in LOG]
    found = judge(parse_pipeline(fine.pipeline), lanes, history)
    assert [finding.check for finding in found] == ["no error"]


def test_a_lane_that_joins_behind_the_last_batch_is_not_judged() -> None:
    short = case(PlannedBatch(take=(4, 0)), PlannedBatch(joins=True), at=15)
    assert not run_case(msgspec.structs.replace(short, lanes=(LOG[0], ())), EngineParts()).findings


def test_a_file_without_a_lane_is_that_of_before_it_joined() -> None:
    members = "{ordered_per: {attr: g, members: {s/0: [a], s/1: [a]}}}"
    whole = parse_pipeline(PIPELINE.format(at=15, disorder=members))
    before = with_lanes_of(whole, whole, 1)
    assert before.source.partitions == 1
    assert before.fingerprint in whole.earlier
    assert with_lanes_of(before, whole, 2).fingerprint == whole.fingerprint


def test_where_a_stream_stands_by_each_key() -> None:
    whole = parse_pipeline(PIPELINE.format(at=15, disorder="{ordered_per: g}"))
    read = [[record(event) for event in own] for own in (lane(0, 20, 30, end=False), ())]
    assert standing(whole, read[:1]) == {"ts": 30}
    assert standing(whole, read) == {"ts": 15}


def test_lanes_are_drawn_to_join_where_the_others_are() -> None:
    refused, drawn = Counter[bool](), 0
    rng = random.Random(1)
    one = case(FIRST, PlannedBatch(take=(1, 1)), at=3)
    for _ in range(60):
        found = with_joining(rng, one, parse_pipeline(one.pipeline))
        drawn += found != one
        if found != one:
            history = history_of(found, EngineParts())
            assert history.error_kind in ("", "CheckpointMismatch")
            refused[history.error is not None] += 1
    assert drawn == 60
    assert 0 < refused[True] < 10


def test_a_case_of_an_engine_with_a_bug_has_such_lanes_if_it_is_asked_for() -> None:
    parts = EngineParts("by hand", joins=True)
    joins = [any(step.joins for step in draw_case(1, n, parts).plan) for n in range(60)]
    assert any(joins)
    without = EngineParts("by hand")
    assert not any(step.joins for n in range(60) for step in draw_case(1, n, without).plan)


def test_no_lane_joins_where_the_log_changes_the_queries() -> None:
    change = {**LOG[0][0], "control": {"queries": {"remove": {"q": 30}}}}
    one = msgspec.structs.replace(case(FIRST, PlannedBatch(take=(1, 1))), lanes=((change,), LOG[1]))
    assert with_joining(random.Random(1), one, parse_pipeline(one.pipeline)) == one
