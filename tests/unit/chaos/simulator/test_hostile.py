"""Logs to which somebody hostile wrote: what is drawn, and what takes effect."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from chaos.simulator.case import Case, Event, PlannedBatch, record
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.run import draw_case, run_case
from tests.unit.chaos.simulator.test_change import data, lane
from windowing.model import Query, parse_pipeline
from windowing.semantics import evaluate
from windowing.semantics.view import effective

PIPELINE = """
name: p
source: {topic: s, partitions: 2, format: json, event_time: {field: ts, unit: us},
  fields: {g: string}, disorder: {slack: 2 us}, control: {believe: all, queries: 1}}
late: {policy: dead_letter}
shards: 2
queries:
  q: {window: RANGE 10 us SLIDE 10 us WATTR ts, group_by: [g], aggregates: {n: count}}
"""
_TOO_WIDE = "RANGE 10001 us SLIDE 1 us WATTR ts"


def add(range_us: int) -> Event:
    query = {
        "window": f"RANGE {range_us} us SLIDE 10 us WATTR ts",
        "group_by": ["g"],
        "aggregates": {"n": "count"},
        "from": 20,
    }
    return {"control": {"queries": {"add": {"new": query}}}}


LANES = (
    lane(0, data(1), add(10), data(21), data(60), data(22), {"control": {"soon": 1}}, data(70)),
    lane(1, data(1), data(2), data(3), add(20), add(20), data(70)),
)


def test_dead_letters_of_a_name_that_turns_out_to_be_disputed_are_no_difference() -> None:
    """Lane 0 writes one before lane 1 says something else; they used to count as differing."""
    case = Case("by hand", "slackwater", PIPELINE, LANES, (PlannedBatch(take=(5, 2)),))
    log = [record(event) for one in LANES for event in one]
    pipeline = parse_pipeline(PIPELINE)
    assert effective(pipeline, log).conflicts
    before = [one for one in log if one.offset < (5, 2)[one.partition]]
    assert "new" in {letter.query for letter in evaluate(pipeline, before).dead}
    assert not run_case(case, EngineParts()).findings


def test_refused_control_records_are_counted_by_reason() -> None:
    """One says what another lane denies, one is there already, and one is of no shape."""
    case = Case("by hand", "slackwater", PIPELINE, LANES, (PlannedBatch(take=(5, 2)),))
    faults = run_case(case, EngineParts()).faults
    counts = {name: count for name, count in faults.items() if name.startswith("control record ")}
    assert counts == {"control record not_allowed": 2, "control record malformed": 1}


def test_what_is_drawn() -> None:
    """Each rule is met, and of the runs that believe changes many have lanes that disagree."""
    parts, seen, refused = replace(EngineParts(), hostile=True), Counter[str](), set[str]()
    for number in range(120):
        drawn = draw_case(13, number, parts)
        pipeline = parse_pipeline(drawn.pipeline)
        if any(part.dense for part in pipeline.source.parts):
            continue  # it may have holes, and so no result
        rule = pipeline.source.parts[0].control
        seen[rule.believe] += 1
        seen["signed"] += rule.key is not None
        log = [record(event) for one in drawn.lanes for event in one]
        if rule.believe != "all":
            continue
        after = effective(pipeline, log)
        actives = [query.window.active for query in after.of(Query)]
        seen["disputed names"] += bool(after.conflicts)
        seen["disputed ends"] += any(active and active.later for active in actives)
        refused |= {one.reason for one in evaluate(after, log).dead if one.query is None}
    assert {"not_allowed", "change_too_late", "malformed"} <= refused
    assert min(seen[one] for one in ("none", "bounds", "signed")) >= 10, seen
    assert seen["disputed names"] >= 0.07 * seen["all"], seen
    assert seen["disputed ends"] >= 0.07 * seen["all"], seen


@pytest.mark.parametrize("plan", [(), (PlannedBatch(take=(1, 0)),)], ids=["one", "two"])
def test_a_copy_is_refused_alike_in_one_batch_with_a_later_one_of_its_name(
    plan: tuple[PlannedBatch, ...],
) -> None:
    """It asks for too much; where the other one was known already, it was `malformed`."""
    query = {**add(10)["control"]["queries"]["add"]["new"], "window": _TOO_WIDE}
    too_much: Event = {"control": {"queries": {"add": {"new": query}}}}
    lanes = (lane(0, too_much, add(10), data(21)), lane(1, data(1), data(2)))
    result = run_case(Case("by hand", "slackwater", PIPELINE, lanes, plan), EngineParts())
    assert not result.findings
    assert result.faults["control record not_allowed"] == 1
