"""Hostile logs: the engine believes what the definition believes, and continues.

Control records of every kind, in any place, signed rightly or wrongly, under every rule.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from chaos.simulator.case import Case, Event, record
from chaos.simulator.draw.log import draw_log
from chaos.simulator.draw.pipeline import draw_pipeline
from chaos.simulator.draw.wish import Wish
from chaos.simulator.platform.hostile import KEY, SECRET, with_hostile
from tests.sampling import sampled
from tests.unit.engine.test_changes import compare, defined, lines
from windowing.engine.reading.batches import batches, interleave
from windowing.model import Pipeline, parse_pipeline
from windowing.model.control import COUNTER_HEADER, SIGNATURE_HEADER, signature
from windowing.runtime.local import LocalEngine, Output
from windowing.semantics import evaluate

WISH = Wish(
    classes=("sliding", "keyed sliding", "session", "join", "operators"),
    provisional=False,
    refusals=False,
    long=0,
    crowded=0,
    queries_max=2,
    records_max=24,
)
TEXT = """
name: p
source: {topic: s, partitions: 2, format: json, event_time: {field: ts, unit: us},
  fields: {v: int}, disorder: {slack: 2 us}, control: CONTROL}
shards: 2
queries:
  w: {window: RANGE 10 us SLIDE 10 us WATTR ts, aggregates: {n: count}}
"""
NEW = {"window": "RANGE 10 us SLIDE 10 us WATTR ts", "aggregates": {"n": "count"}, "from": 50}
END, BOUND = {"end": True}, {"bound": 40}
ADD = {"queries": {"add": {"new": NEW}}}


def hostile(seed: int) -> tuple[Pipeline, list[Any]]:
    """A pipeline with any rule, and a log that somebody hostile has written to."""
    rng = random.Random(seed)
    pipeline = parse_pipeline(draw_pipeline(rng, WISH))
    case = Case("", "slackwater", pipeline.text, draw_log(rng, pipeline, WISH), ())
    case = with_hostile(rng, case, pipeline)
    return parse_pipeline(case.pipeline), [record(event) for lane in case.lanes for event in lane]


@pytest.mark.parametrize("seed", sampled(range(60), every=7))
def test_hostile_logs_have_the_rows_and_dead_letters_of_the_definition(seed: int) -> None:
    compare(random.Random(seed), *hostile(seed))


def test_these_logs_are_of_all_kinds() -> None:
    seen: set[str] = set()
    for seed in range(60):
        pipeline, log = hostile(seed)
        rules = [part.control for part in pipeline.source.parts]
        seen |= {rules[0].believe, *(["signed"] if rules[0].key else [])}
        seen |= {letter.reason for letter in evaluate(pipeline, log).dead}
    wanted = {"none", "bounds", "all", "signed", "not_allowed", "malformed", "change_too_late"}
    assert not wanted - seen


def data(ts: int) -> Event:
    return {"value": {"ts": ts, "v": 1}}


def signed(lane: int, counter: int, control: Any, *, by: str = SECRET) -> Event:
    body = json.dumps(control).encode()
    digits = signature(by.encode(), f"s/{lane}", counter, body).decode()
    headers = {SIGNATURE_HEADER: digits, COUNTER_HEADER: str(counter)}
    return {"control": control, "headers": headers}


def log(*lanes: list[Event]) -> list[Any]:
    return [
        record({"source": "s", "partition": number, "offset": at, **content})
        for number, contents in enumerate(lanes)
        for at, content in enumerate(contents)
    ]


def run(control: str, records: list[Any], rows: int = 1, seed: int = 0) -> Output:
    """What the engine makes of a log, which is what the definition does."""
    pipeline = parse_pipeline(TEXT.replace("CONTROL", control))
    engine = LocalEngine(pipeline)
    for batch in batches(interleave(records, seed), rows, pipeline):
        engine.feed(batch)
    assert lines(engine.output) == defined(evaluate(pipeline, records))
    return engine.output


def dead(output: Output) -> dict[tuple[int, int], str]:
    return {(one.partition, one.offset): one.reason for one in output.dead_letters}


@pytest.mark.parametrize(
    ("control", "refused"),
    [
        ("none", {0, 1, 2}),
        ("bounds", {1}),
        ("all", set()),
        (f"{{believe: all, key: {KEY}}}", {0, 1, 2}),
    ],
)
def test_what_is_not_believed_is_a_dead_letter_and_changes_nothing(
    control: str, refused: set[int]
) -> None:
    said = [{"control": BOUND}, {"control": ADD}, {"control": {"now": 7}}]
    output = run(control, log([*said, data(1), {"control": "junk"}]))
    own = {offset for (_, offset), reason in dead(output).items() if reason == "not_allowed"}
    # With `none`, and where a signature is missing, nobody looks at what a record says.
    unread = {4} if control not in ("bounds", "all") else set()
    assert own == refused | unread
    late = 1 - (0 in refused)
    assert output.counts["w"]["applied"] == 1 - late


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_a_signature_is_good_once_and_in_its_lane(rows: int) -> None:
    rule = f"{{key: {KEY}}}"
    once, again = signed(0, 5, {"bound": 3}), signed(0, 5, {"bound": 3})
    lane = [
        once,
        again,
        signed(0, 4, {"bound": 9}),
        signed(1, 6, {"bound": 9}),
        signed(0, 6, {"bound": 9}, by="another"),
        {"control": {"bound": 9}},
        signed(0, 6, {"bund": 9}),  # signed, and no control record: its counter counts
        signed(0, 6, {"bound": 9}),
        signed(0, 7, END),
        data(4),
    ]
    output = run(rule, log(lane), rows)
    reasons = [dead(output).get((0, offset), "believed") for offset in range(len(lane))]
    assert reasons == [
        "believed",
        *["not_allowed"] * 5,
        "malformed",
        "not_allowed",
        "believed",
        "after_end",
    ]


@pytest.mark.parametrize("rule", ["bounds", "all"])
@pytest.mark.parametrize(
    "body",
    [
        b'{"bound": 100' + b" " * 4_200 + b"}",
        b'{"end": true' + b" " * 4_200 + b"}",
        b'{"bound": 100' + b" " * 5_000 + b"}",
        b'{"queries":{"\\ud800":1}}',
        b'{"queries":{"add":{"a":"\\udc00"}}}',
        b'{"bound":1,"\\ud800":"' + b"x" * 5_000 + b'"}',
        b'{"bound": ' + b"1" * 5_000 + b"}",
        b'{"queries": ' + b"1" * 4_350 + b"}",
        b'{"queries":{"add":{"x":{"from":1,"group_by":[[1]],"y":"' + b"x" * 5_000 + b'"}}}}',
        b'{"queries":' + b"[" * 967 + b"]" * 967 + b"}",
        b'{"queries":' + b"[" * 40 + b"]" * 40 + b"}",
    ],
    ids=lambda body: repr(body[:30]),
)
def test_engine_and_definition_read_alike_what_is_oddly_spelled(body: bytes, rule: str) -> None:
    event = record({"source": "s", "partition": 0, "offset": 0, "control": {}})
    run(rule, [replace(event, control=body), *log([data(5), data(6)])[1:]])


@pytest.mark.parametrize(("more", "refused"), [(0, {}), (1, {(0, 0): "not_allowed"})])
@pytest.mark.parametrize(("rule", "change"), [("bounds", False), ("all", False), ("all", True)])
def test_a_record_has_a_longest_length(
    rule: str, more: int, refused: dict[Any, str], *, change: bool
) -> None:
    body = json.dumps(ADD if change else BOUND).encode()
    known = parse_pipeline(TEXT.replace("CONTROL", rule)).source
    longest = known.control.bytes_max(known.founding, change=change)
    event = record({"source": "s", "partition": 0, "offset": 0, "control": {}})
    event = replace(event, control=body + b" " * (longest - len(body) + more))
    assert dead(run(rule, [event])) == refused


def test_nobody_ends_a_lane_who_may_not() -> None:
    output = run("none", log([data(1), {"control": END}, data(2)]))
    assert output.counts["w"]["applied"] == 2


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rows", [1, 3, 100])
def test_a_lower_lane_refuses_what_a_higher_one_had_taken(rows: int, seed: int) -> None:
    """Also where the job has long gone on with it: the dead letter comes when it is known."""
    other = {"queries": {"add": {"new": {**NEW, "aggregates": {"m": "count"}}}}}
    first = [data(ts) for ts in (1, 2, 3, 4, 5, 6)]
    lanes = ([*first, {"control": ADD}, data(90)], [{"control": other}, data(60), data(95)])
    output = run("all", log(*lanes), rows, seed)
    assert dead(output) == {(1, 0): "not_allowed"}
    assert {row.query for row in output.rows} == {"w"}
    assert {*output.counts} == {"w"}


def test_many_changes_in_a_batch_are_taken_at_once() -> None:
    pipeline = parse_pipeline(TEXT.replace("CONTROL", "all"))
    adds = [{"control": {"queries": {"add": {f"q{n}": NEW}}}} for n in range(9)]
    engine, changes = LocalEngine(pipeline), 0
    change = engine._change

    def counted(*arguments: Any) -> Any:
        nonlocal changes
        changes += 1
        return change(*arguments)

    engine._change = counted  # type: ignore[method-assign]
    for batch in batches(log([*adds, data(99)], [*adds, data(99)]), 100, pipeline):
        engine.feed(batch)
    assert changes == 1
    assert len(engine.pipeline.flows) == 10
