"""Queries that are added to a run show what the definition does, as if always there."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.sampling import sampled
from tests.strategies import KINDS, OPERATORS, Case, cases, entry, interleavings, join_cases
from tests.unit.engine.fused.test_fused import PIPELINE, FusedRun
from tests.unit.engine.test_convert import ENDS, EVENTS, as_snapshot, lines, stores
from windowing.engine.added import why_not
from windowing.engine.convert import convert
from windowing.engine.plan import plan_of
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.reading.batches import batches
from windowing.engine.storage.state import MemoryStore
from windowing.engine.storage.tables import HEAD, STATE
from windowing.engine.wids import NOTHING_YET
from windowing.model import Pipeline, PipelineError, parse_pipeline
from windowing.model.file.versions import added_queries
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.model.run_errors import ArrivalOrder, CheckpointMismatch
from windowing.runtime.local import LocalEngine
from windowing.runtime.output import rows_of
from windowing.semantics import LogEntry, evaluate

_EXAMPLES = max(settings.default.max_examples // 3, 3) if settings.default else 3
_FAR = 2**60


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


def furthest(pipeline: Pipeline, log: list[LogEntry]) -> int:
    """The largest event time in a log, or the largest bound."""
    engine = LocalEngine(pipeline)
    run(pipeline, engine, log, len(log))
    lanes = lanes_of(pipeline, stores(engine.snapshot().shards))
    return max((max(one.newest_us, one.furthest_us) for one in lanes), default=NOTHING_YET)


def run(pipeline: Pipeline, engine: LocalEngine, log: list[LogEntry], rows: int) -> None:
    try:
        for batch in batches(log, rows, pipeline):
            engine.feed(batch)
    except ArrivalOrder:  # rows that are counted as they arrive, from two lanes
        assume(False)


@st.composite
def queries(draw: st.DrawFn, pipeline: Pipeline, after_us: int, until_us: int) -> dict[str, Any]:
    """A query whose windows begin behind an event time, with what another query has besides.

    There are some tens of windows until the end of the log, also of landmark windows.
    """
    origin = after_us + draw(st.integers(1, 9))
    slide = max(until_us - origin, 0) // 40 + draw(st.integers(1, 12))
    ranges = st.integers(1, 3 * slide).map("{} us".format)
    length = draw(st.one_of(st.just("LANDMARK"), ranges))
    time = pipeline.source.event_time.field
    window, begins = f"RANGE {length} SLIDE {slide} us WATTR {time}", {}
    if length != "LANDMARK" and draw(st.booleans()):
        begins = {"from": origin, "warmup": draw(st.sampled_from(["skip", "emit"]))}
        window += draw(st.sampled_from(["", " ORIGIN 7 us", " ALIGN start"]))
    else:
        window += f" ORIGIN {origin} us"
    others = [one for one in yaml.safe_load(pipeline.text)["queries"].values() if "window" in one]
    kept = draw(st.sampled_from([*others, {"aggregates": {"n": "count"}}]))
    return {**without_activity(kept), "window": window, **begins}


def without_activity(query: dict[str, Any]) -> dict[str, Any]:
    return {key: query[key] for key in query if key not in ("from", "until", "warmup")}


def check(data: st.DataObject, case: Case) -> None:
    """Add a query on the way through a log, and compare with the definition."""
    before, log = (
        parse_pipeline(case.pipeline),
        list(map(entry, data.draw(interleavings(case.lanes)))),
    )
    cut, rows = data.draw(st.integers(0, len(log))), data.draw(st.sampled_from([1, 2, 3, 40]))
    first = LocalEngine(before)
    run(before, first, log[:cut], rows)
    snapshot = first.snapshot()
    lanes, shards = stores(snapshot.lanes), stores(snapshot.shards)
    read, until = newest(before, shards), furthest(before, log)
    assume(max(read, until) < _FAR)
    try:
        query = data.draw(queries(before, max(read, 0), until))
        after = with_query(case.pipeline, "added", query)
    except PipelineError:  # clauses of the other query that do not fit these windows
        assume(False)
    assume(why_not(plan_of(before), plan_of(after), "added") is None)
    assert added_queries(before, after) == ("added",)
    then = LocalEngine(after)
    then.restore(as_snapshot(convert(before, after, lanes, shards)))
    run(after, then, log[cut:], rows)
    outcome = evaluate(after, map(entry, case.events))
    defined = [*row_lines(outcome.rows), *dead_letter_lines(outcome.dead)]
    assert sorted(lines(first.output, then.output)) == sorted(defined)


@pytest.mark.parametrize("kind", sampled(KINDS, every=3))
@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_it_is_as_if_it_had_always_been_there(kind: str, data: st.DataObject) -> None:
    check(data, data.draw(cases(kind=kind, wide=kind == "sliding")))


@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_queries_of_operators_go_on_beside_it(data: st.DataObject) -> None:
    check(data, data.draw(cases(kind=OPERATORS)))


WINDOW = "RANGE 4 us SLIDE 2 us WATTR ts ORIGIN {} us"


def added(origin: int) -> Pipeline:
    query = {"window": WINDOW.format(origin), "group_by": ["k"], "aggregates": {"n": "count"}}
    return with_query(PIPELINE, "added", query)


def test_a_fused_run_goes_on_with_it() -> None:
    before, after = parse_pipeline(PIPELINE), added(33)
    first, then = FusedRun(before), FusedRun(after)
    log = [*map(entry, [*EVENTS, *ENDS])]
    for batch in batches(log[:33], 4):
        first.feed(batch, [], 0)
    then.stores = list(convert(before, after, [], first.stores).shards)
    sent = [one for batch in batches(log[33:], 4) for one in then.feed(batch, [], 0)]
    frames = [one.results["added"] for one in sent if "added" in one.results]
    rows = [row for frame in frames for row in rows_of(after.flows[1], after, frame)]
    defined = [row for row in evaluate(after, log).rows if row.query == "added"]
    assert rows
    assert sorted(row_lines(rows)) == sorted(row_lines(defined))


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


@settings(max_examples=_EXAMPLES)
@given(data=st.data())
def test_nothing_is_added_to_a_join(data: st.DataObject) -> None:
    pipeline = parse_pipeline(data.draw(join_cases()).pipeline)
    assert added_queries(pipeline, parse_pipeline(PIPELINE)) == ()
    assert added_queries(parse_pipeline(PIPELINE), pipeline) == ()


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
