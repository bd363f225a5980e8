"""Lanes added to a running pipeline, by hand; simulated runs add them to every class of windows."""

from __future__ import annotations

import pytest

from tests.strategies import Entry, entry
from windowing.engine.progress.idle import IdleLanes
from windowing.engine.reading.batches import batches
from windowing.engine.storage.state import MemoryStore
from windowing.model import Pipeline, parse_pipeline
from windowing.model.errors import PipelineError
from windowing.model.rows import row_lines
from windowing.model.run_errors import CheckpointMismatch, UndeclaredPartition
from windowing.runtime.local import LocalEngine
from windowing.semantics import evaluate
from windowing.semantics.log import BadLogError

PIPELINE = """
name: p
source:
  topic: s
  partitions: {partitions}
  format: json
  event_time: {{field: ts, unit: us}}
  fields: {{k: string}}
  disorder: {disorder}
  {joined}
late: {{policy: dead_letter}}
shards: 2
queries:
  w: {{window: {window}, aggregates: {{n: count}}}}
"""
TUMBLING = "RANGE 10 us SLIDE 10 us WATTR ts"


def pipeline_of(
    partitions: int,
    joined: str = "",
    *,
    disorder: str = "ordered",
    window: str = TUMBLING,
) -> Pipeline:
    text = PIPELINE.format(
        partitions=partitions,
        joined=f"joined: {joined}" if joined else "",
        disorder=disorder,
        window=window,
    )
    return parse_pipeline(text)


def events(*records: tuple[int, int, int]) -> list[Entry]:
    """Records of topic s, as partition, offset and time."""
    return [
        entry({"source": "s", "partition": p, "offset": o, "value": {"ts": ts, "k": "a"}})
        for p, o, ts in records
    ]


def fed(pipeline: Pipeline, log: list[Entry], engine: LocalEngine | None = None) -> LocalEngine:
    engine = engine or LocalEngine(pipeline)
    for batch in batches(log, 2):
        engine.feed(batch)
    return engine


def test_a_case_by_hand() -> None:
    """Two lanes are at 25 when the third joins: its 19 is late, its 20 is not, and 25 holds P.

    [0, 10) and [10, 20) had closed, so 19 is late for [10, 20). P is the smallest of 31, 25 and
    the third lane's: 25 until it moves, 30 with its 30, and so [20, 30) closes with 20 and 25.
    """
    before = events((0, 0, 5), (1, 0, 15), (0, 1, 25), (1, 1, 25))
    behind = events((0, 2, 31), (1, 2, 31), (2, 0, 19), (2, 1, 20), (2, 2, 30))
    first = fed(pipeline_of(2), before)
    assert {row.window_id: row.records for row in first.output.rows} == {0: 1, 1: 1}
    grown = pipeline_of(3, "{s/2: {lane: 2, at: {ts: 25}}}")
    second = LocalEngine(grown)
    second.restore(first.snapshot())
    fed(grown, behind, second)
    assert [(row.window_id, row.records) for row in second.output.rows] == [(2, 3)]
    assert [(dead.offset, dead.reason) for dead in second.output.dead_letters] == [(0, "late")]
    whole = evaluate(grown, [*before, *behind])
    rows = [*first.output.rows, *second.output.rows]
    assert sorted(row_lines(rows)) == sorted(row_lines(whole.rows))
    assert second.output.dead_letters == whole.dead


def test_a_landmark_window_that_only_the_joining_closes() -> None:
    """Lane 0 ends at 5, lane 1 joined at 25: windows 0 and 1 close by that, window 2 by its 35."""
    grown = pipeline_of(
        2,
        "{s/1: {lane: 1, at: {ts: 25}}}",
        window="RANGE LANDMARK SLIDE 10 us WATTR ts",
    )
    end = entry({"source": "s", "partition": 0, "offset": 1, "control": {"end": True}})
    log = [*events((0, 0, 5)), end, *events((1, 0, 35))]
    engine = LocalEngine(grown)
    for one in log:
        fed(grown, [one], engine)
    rows = {row.window_id: row.records for row in engine.output.rows}
    assert rows == {0: 1, 1: 1, 2: 1}
    assert sorted(row_lines(engine.output.rows)) == sorted(row_lines(evaluate(grown, log).rows))


def test_a_record_that_lies_behind_the_run_is_refused() -> None:
    """Joining at 24 would let a record at 24 into nothing new, and one at 9 into what was sent."""
    first = fed(pipeline_of(1), events((0, 0, 5), (0, 1, 25)))
    for joined in ("{s/1: {lane: 1, at: {ts: 24}}}", "{s/1: {lane: 1}}"):
        grown = pipeline_of(2, joined)
        second = LocalEngine(grown)
        second.restore(first.snapshot())
        with pytest.raises(CheckpointMismatch, match=r"s/1 is said to join at ts (24|nothing yet)"):
            fed(grown, events((1, 0, 30)), second)


def test_a_source_that_has_ended_takes_no_lane() -> None:
    end = entry({"source": "s", "partition": 0, "offset": 0, "control": {"end": True}})
    first = fed(pipeline_of(1), [end])
    grown = pipeline_of(2, "{s/1: {lane: 1, at: {ts: 9000000000000000000}}}")
    second = LocalEngine(grown)
    second.restore(first.snapshot())
    with pytest.raises(CheckpointMismatch, match="the run is at its end"):
        fed(grown, events((1, 0, 30)), second)


def test_a_lane_that_joined_is_silent_from_its_joining_on() -> None:
    store = MemoryStore()
    assert IdleLanes(10, 1).silent(store, {0}, 100) == frozenset()
    grown = IdleLanes(10, 2)
    assert grown.silent(store, {0}, 109) == frozenset()
    assert grown.silent(store, {0}, 118) == frozenset()
    assert grown.silent(store, {0}, 119) == {1}


def test_state_is_extended_by_lanes_that_joined_and_by_nothing_else() -> None:
    """Not by a changed window, not by a partition that no record lets join, and never back."""
    first = fed(pipeline_of(2), events((0, 0, 5), (1, 0, 15)))
    joined = "{s/2: {lane: 2, at: {ts: 25}}}"
    for other in (
        pipeline_of(3),
        pipeline_of(3, joined, window="RANGE 20 us SLIDE 10 us WATTR ts"),
        pipeline_of(3, joined, disorder="{slack: 1 us}"),
    ):
        engine = LocalEngine(other)
        engine.restore(first.snapshot())
        with pytest.raises(CheckpointMismatch):
            fed(other, events((0, 1, 30)), engine)
    grown = pipeline_of(3, joined)
    second = LocalEngine(grown)
    second.restore(first.snapshot())
    fed(grown, events((0, 1, 30), (1, 1, 30)), second)
    snapshot = second.snapshot()
    back = LocalEngine(pipeline_of(2))
    for (_, store), values in zip(back._shards, snapshot.shards, strict=True):
        store.restore(values)
    with pytest.raises(CheckpointMismatch):
        fed(pipeline_of(2), events((0, 2, 40)), back)


def test_a_pipeline_that_nothing_joined_keeps_its_fingerprint() -> None:
    """A checkpoint of before opens: the key is in no fingerprint where it says nothing."""
    grown = pipeline_of(4, "{s/2: {lane: 2, at: {ts: 25}}, s/3: {lane: 3, at: {ts: 30}}}")
    three = pipeline_of(3, "{s/2: {lane: 2, at: {ts: 25}}}")
    assert grown.earlier == {pipeline_of(2).fingerprint: 2, three.fingerprint: 3}


def test_an_undeclared_partition_is_named() -> None:
    """By engine and definition alike; it was an `IndexError`, or another side's lane."""
    pipeline, log = pipeline_of(2), events((2, 0, 5))
    with pytest.raises(UndeclaredPartition, match=r"s/2 is a partition .*--accept-partitions"):
        fed(pipeline, log)
    with pytest.raises(BadLogError, match=r"s/2 is a partition .*--accept-partitions"):
        evaluate(pipeline, log)


@pytest.mark.parametrize(
    ("partitions", "joined", "said"),
    [
        (3, "{s/1: {lane: 2}}", "can only be the last ones"),
        (3, "{t/2: {lane: 2}}", "can only be the last ones"),
        (1, "{s/0: {lane: 1}}", "can only be the last ones, but not all"),
        (3, "{s/2: {lane: 3}}", "s/2 is lane 3, and the next number is 2"),
        (3, "{s/2: {at: {ts: 5}}}", "does not give lane and at"),
        (3, "{s/2: {lane: 2, at: {k: 5}}}", "'k' is neither the event time"),
        (3, "{s/2: {lane: 2, at: {ts: soon}}}", "'soon' is not a progress"),
        (3, "{s/2: {lane: 2, at: {ts: 9223372036854775807}}}", "is not a progress"),
        (3, "[s/2]", "names no lanes"),
        (3, "{two: {lane: 2}}", "is not the name of a lane"),
    ],
)
def test_a_record_that_is_none(partitions: int, joined: str, said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        pipeline_of(partitions, joined)


def test_rows_counted_as_they_arrive_need_pattr() -> None:
    joined = "{s/1: {lane: 1, at: {ts: 5}}}"
    rows = "RANGE 2 rows SLIDE 2 rows WATTR row_num"
    with pytest.raises(PipelineError, match="E_ARRIVAL_ORDER: s/1 joined"):
        pipeline_of(2, joined, window=rows)
    assert pipeline_of(2, joined, window=f"{rows} PATTR k").earlier


def test_generators_that_name_lanes_name_those_that_joined() -> None:
    joined = "{s/1: {lane: 1, at: {ts: 5}}}"
    with pytest.raises(PipelineError, match="s/1 is missing"):
        pipeline_of(2, joined, disorder="{heartbeat: {s/0: {max_delay: 5 s}}}")


def test_heartbeats_tell_nothing_of_a_lane_that_joined() -> None:
    """That 30 was seen of the second lane stands in the first one from before the second joined.

    Whoever believed it would call 12 late; a job that did not know the lane cannot have done so.
    """
    seen = {"source": "s", "partition": 0, "offset": 1, "control": {"seen": {"s/1": 30}}}
    before = [*events((0, 0, 5)), entry(seen)]
    behind = [*events((0, 2, 12)), entry({**seen, "offset": 3}), *events((0, 4, 25), (1, 0, 25))]
    first = fed(pipeline_of(1, disorder="{heartbeat: {s/0: {max_delay: 0 us}}}"), before)
    both = "{heartbeat: {s/0: {max_delay: 0 us}, s/1: {max_delay: 0 us}}}"
    grown = pipeline_of(2, "{s/1: {lane: 1, at: {ts: 5}}}", disorder=both)
    second = LocalEngine(grown)
    second.restore(first.snapshot())
    fed(grown, behind, second)
    rows = [*first.output.rows, *second.output.rows]
    assert sorted((row.window_id, row.records) for row in rows) == [(0, 1), (1, 1)]
    assert not second.output.dead_letters
    whole = evaluate(grown, [*before, *behind])
    assert sorted(row_lines(whole.rows)) == sorted(row_lines(rows))
    assert not whole.dead


def test_lanes_of_a_join_keep_their_numbers() -> None:
    """A partition of the left topic was read as one of the right; now it stands behind both."""
    side = (
        "{{source: {{topic: {topic}, partitions: {n}, format: json, disorder: ordered, "
        "event_time: {{field: ts, unit: us}}, fields: {{k: string}}{joined}}}, window: 5 us}}"
    )

    def join(left: str, right: str, many: tuple[int, int]) -> Pipeline:
        sides = [
            side.format(topic=topic, n=n, joined=f", joined: {joined}" if joined else "")
            for topic, n, joined in zip(("l", "r"), many, (left, right), strict=True)
        ]
        return parse_pipeline(
            f"name: j\njoin:\n  left: {sides[0]}\n  right: {sides[1]}\n"
            "  equal: [k]\n  select: {k: left.k}\n"
        )

    grown = join("{l/1: {lane: 4, at: {ts: 9}}}", "{r/2: {lane: 3, at: {ts: 7}}}", (2, 3))
    source = grown.source
    names = [source.lane(number) for number in range(source.partitions)]
    assert names == ["l/0", "r/0", "r/1", "r/2", "l/1"]
    assert [source.number(*name.split("/")[:1], int(name[2:])) for name in names] == [*range(5)]
    assert grown.flows[0] is not None
    topics = [source.place(number)[0].topic for number in range(5)]
    sides = [grown.flows[0].side_of(topic) for topic in topics]
    assert sides == ["left", "right", "right", "right", "left"]
    assert source.number("l", 2) is None
    a, b = source.foreign("r")
    assert source.lane(a * 7 + b) == "r/7"
    first, second = join("", "", (1, 2)), join("", "{r/2: {lane: 3, at: {ts: 7}}}", (1, 3))
    assert grown.earlier == {first.fingerprint: 3, second.fingerprint: 4}
