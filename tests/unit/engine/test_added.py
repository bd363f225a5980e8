"""Queries that are added to a run show what the definition does, as if always there."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.strategies import entry
from tests.unit.engine.test_convert import ENDS, EVENTS, as_snapshot, stores
from tests.unit.engine.test_fused import PIPELINE
from windowing.engine.added import why_not
from windowing.engine.convert import convert
from windowing.engine.plan import plan_of
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.reading.batches import batches
from windowing.engine.storage.state import MemoryStore
from windowing.engine.storage.tables import HEAD, STATE
from windowing.engine.wids import NOTHING_YET
from windowing.model import Pipeline, parse_pipeline
from windowing.model.file.versions import added_queries
from windowing.model.rows import row_lines
from windowing.model.run_errors import CheckpointMismatch
from windowing.runtime.local import LocalEngine
from windowing.semantics import evaluate


def with_query(text: str, name: str, query: dict[str, Any]) -> Pipeline:
    document = yaml.safe_load(text)
    document["queries"] = {**document["queries"], name: query}
    return parse_pipeline(yaml.safe_dump(document, sort_keys=False))


def lanes_of(pipeline: Pipeline, shards: list[MemoryStore]) -> list[LaneProgress]:
    """What shards know of their lanes by event time."""
    heads = [STATE.decode(data) for one in shards if (data := one.get(HEAD)) is not None]
    return [lane for head in heads for lane in head.reached[plan_of(pipeline).clocks[0].name]]


def newest(pipeline: Pipeline, shards: list[MemoryStore]) -> int:
    """The largest event time that a run has read."""
    return max((one.newest_us for one in lanes_of(pipeline, shards)), default=NOTHING_YET)


WINDOW = "RANGE 4 us SLIDE 2 us WATTR ts ORIGIN {} us"


def added(origin: int) -> Pipeline:
    query = {"window": WINDOW.format(origin), "group_by": ["k"], "aggregates": {"n": "count"}}
    return with_query(PIPELINE, "added", query)


@pytest.mark.parametrize("fused", [False, True], ids=["lanes", "fused"])
def test_a_run_has_its_rows_from_then_on(*, fused: bool) -> None:
    log = [*map(entry, [*EVENTS, *ENDS])]
    before, after = parse_pipeline(PIPELINE), added(33)
    first, then = LocalEngine(before, fused=fused), LocalEngine(after, fused=fused)
    for batch in batches(log[:33], 4):
        first.feed(batch)
    state = first.snapshot()
    found = convert(before, after, stores(state.lanes), stores(state.shards))
    then.restore(as_snapshot(found))
    for batch in batches(log[33:], 4):
        then.feed(batch)
    assert {row.query for row in then.output.rows} == {"q", "added"}
    rows = [*first.output.rows, *then.output.rows]
    assert sorted(row_lines(rows)) == sorted(row_lines(evaluate(after, log).rows))


def test_its_windows_begin_behind_all_that_was_read() -> None:
    before = parse_pipeline(PIPELINE)
    engine = LocalEngine(before)
    for batch in batches(map(entry, EVENTS[:31]), 4):
        engine.feed(batch)
    lanes, shards = (stores(parts) for parts in (engine.snapshot().lanes, engine.snapshot().shards))
    assert newest(before, shards) == 30
    with pytest.raises(CheckpointMismatch, match="at ORIGIN 1970-01-01T00:00:00\\.000032Z"):
        convert(before, added(30), lanes, shards)
    convert(before, added(31), lanes, shards)
    convert(
        before,
        with_query(
            PIPELINE,
            "added",
            {
                "window": "RANGE 4 us SLIDE 2 us WATTR ts ORIGIN 1970-01-01T00:00:00.000032Z",
                "aggregates": {"n": "count"},
            },
        ),
        lanes,
        shards,
    )


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"window": "SESSION 5 us WATTR ts"}, "session windows may hold records from before"),
        ({"window": "RANGE 5 us SLIDE 5 us WATTR ts ALIGN start ORIGIN 9 us"}, "with ALIGN start"),
        ({"window": "RANGE 5 rows SLIDE 5 rows WATTR row_num"}, "may hold records from before"),
        ({"window": "RANGE 5 us SLIDE 1 rows RATTR ts SATTR row_num"}, "from before it was added"),
        ({"window": "RANGE 5 us SLIDE 5 us WATTR ts"}, "give the query a from"),
    ],
)
def test_what_cannot_be_added(query: dict[str, Any], why: str) -> None:
    before = parse_pipeline(PIPELINE)
    after = with_query(PIPELINE, "added", {**query, "aggregates": {"n": "count"}})
    assert added_queries(before, after) == ("added",)
    assert why in str(why_not(plan_of(before), plan_of(after), "added"))
    with pytest.raises(CheckpointMismatch, match="query added cannot be added to a run"):
        convert(before, after, [], [])


def test_a_query_of_operators_cannot_be_added() -> None:
    window = "SLIDING count(5), count(1)"
    query = {"operator": "aggregate", "window": window, "aggregates": {"n": "count"}}
    after = with_query(PIPELINE, "added", query)
    reason = why_not(plan_of(parse_pipeline(PIPELINE)), plan_of(after), "added")
    assert reason is not None
    assert "from the first one on" in reason


def test_any_other_change_beside_it_is_none() -> None:
    text = added(50).text
    before = parse_pipeline(PIPELINE)
    assert added_queries(before, before) == ()
    for old, new in (("slack: 2", "slack: 3"), ("shards: 3", "shards: 4"), ("max(v)", "min(v)")):
        changed = parse_pipeline(text.replace(old, new))
        assert (added_queries(before, changed) == ()) == (changed.text != text), old


def test_the_run_must_know_its_progress_by_the_attribute() -> None:
    text = PIPELINE.replace("disorder:", "disorder_of: {v: ordered}\n  disorder:")
    query = {"window": "RANGE 5 SLIDE 5 WATTR v ORIGIN 9", "aggregates": {"n": "count"}}
    after = with_query(text, "added", query)
    reason = why_not(plan_of(parse_pipeline(text)), plan_of(after), "added")
    assert reason == "the run does not know its own progress by v"
