"""Which rows are sent: of windows without records, and of those that fulfil `having`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import entry
from tests.unit.engine.test_engine import agreed
from windowing.engine.reading.batches import batches
from windowing.engine.wids import grid
from windowing.engine.windows.empties import EmptyWindows
from windowing.model import Pipeline, PipelineError, parse_pipeline
from windowing.model.query import Query
from windowing.model.rows import Row, row_line
from windowing.runtime.local import LocalEngine
from windowing.semantics import evaluate

TUMBLING = "RANGE 10 us SLIDE 10 us WATTR ts"
UPDATE = {"late": {"policy": "update", "every": "10 us"}, "retention": "60 us"}
_EXAMPLES = max((settings.default.max_examples if settings.default else 8) // 2, 8)


def pipeline(query: dict[str, Any], **more: Any) -> Pipeline:
    """Return a pipeline of one query that counts records of keys `k`, and adds `v` up."""
    source = {
        "topic": "s",
        "partitions": 2,
        "format": "json",
        "fields": {"k": "string?", "v": "int?"},
    }
    source |= {"event_time": {"field": "ts", "unit": "us"}, "disorder": {"slack": "0 s"}}
    shown = {"n": "count", "some": "count(v)", "total": "sum(v)"}
    queries = {"q": {"window": TUMBLING, "group_by": ["k"], "aggregates": shown} | query}
    document = {"name": "p", "source": source, "shards": 1, "queries": queries} | more
    return parse_pipeline(yaml.safe_dump(document, sort_keys=False))


def log(*lanes: list[tuple[int, str | None, int | None]], end: bool = True) -> list[Any]:
    """Return the entries of lanes, in turn."""
    events = []
    for partition, records in enumerate(lanes):
        place = {"source": "s", "partition": partition}
        values = [{"ts": ts, "k": key, "v": v} for ts, key, v in records]
        own = [{**place, "offset": n, "value": value} for n, value in enumerate(values)]
        events += own + [{**place, "offset": len(own), "control": {"end": True}}] * end
    return [entry(event) for event in events]


def told(rows: list[Row]) -> Iterator[tuple[object, ...]]:
    """Yield window, revision, number of records and marks of each row."""
    for row in rows:
        mark = "back" if row.retracts else "stone" if row.tombstone else ""
        yield row.window_id, row.revision, row.records, mark


def shown(spec: Pipeline, *lanes: list[tuple[int, str | None, int | None]]) -> list[Any]:
    return [*told(agreed(spec, log(*lanes)))]


def test_a_window_calls_for_those_behind_it_that_have_no_record() -> None:
    rows = agreed(pipeline({"empty": {"after": 2}}), log([(5, "a", 1), (65, "b", None)], []))
    assert [row_line(row) for row in rows if row.records == 0] == [
        '{"query":"q","window_id":1,"window_start":10,"window_end":20,"key":["a"],"pane":"full",'
        '"revision":0,"records":0,"offsets":{},"values":{"n":0,"some":0,"total":null}}',
        '{"query":"q","window_id":2,"window_start":20,"window_end":30,"key":["a"],"pane":"full",'
        '"revision":0,"records":0,"offsets":{},"values":{"n":0,"some":0,"total":null}}',
    ]


@pytest.mark.parametrize(
    ("last", "filled"),
    [
        (25, [1, 2]),  # the newest record is in window 2, whoever has it
        (19, [1]),
        (9, []),
    ],
)
def test_once_all_lanes_have_ended_the_newest_record_is_in_the_last_window(
    last: int, filled: list[int]
) -> None:
    rows = shown(pipeline({"empty": {"after": 5}}), [(5, "a", 1), (last, "b", 1)], [])
    assert [wid for wid, _, records, _ in rows if not records] == filled


def test_late_records_call_for_nothing_and_revise_what_is_empty() -> None:
    lane: list[Any] = [(5, "a", 1), (45, "b", 1), (15, "a", 1), (27, "c", 1), (80, "b", 1)]
    rows = agreed(pipeline({"empty": {"after": 1}}, **UPDATE), log(lane, []))
    assert [(row.key[0], *one) for row, one in zip(rows, told(rows), strict=True)] == [
        ("a", 0, 0, 1, ""),
        ("a", 1, 0, 0, ""),
        ("a", 1, 1, 1, ""),
        ("c", 2, 1, 1, ""),
        ("b", 4, 0, 1, ""),
        ("b", 5, 0, 0, ""),
        ("b", 8, 0, 1, ""),
    ]


def test_an_empty_row_is_taken_back_like_any_other() -> None:
    spec = pipeline({"empty": {"after": 1}, "accumulation": "retracting"}, **UPDATE)
    lane: list[Any] = [(5, "a", 1), (45, "b", 1), (15, "a", 1), (80, "b", 1)]
    found = [one for one in shown(spec, lane, []) if one[0] == 1]
    assert found == [(1, 0, 0, ""), (1, 0, 0, "back"), (1, 1, 1, "")]


def test_a_window_whose_end_no_instant_can_be_is_never_sent_empty() -> None:
    """Windows of a package may end as late as they like: of the grid, the last end is 2^63 - 8."""
    (query,) = pipeline({"empty": {"after": 3}}).of(Query)
    empties = EmptyWindows(query, grid(query.window), ["=k"], None)
    last = (2**63 - 1) // 10 - 1
    windows = pl.DataFrame({"=k": ["a"] * 3, "window_id": [last - 1, last, last + 1]})
    assert empties.among(windows)["window_id"].to_list() == [last - 1, last]


@pytest.mark.parametrize(
    ("accumulation", "wanted"),
    [
        (
            "accumulating",
            [(0, 0, 1, ""), (0, 1, 2, "stone"), (0, 3, 4, ""), (0, 4, 5, "stone")],
        ),
        ("retracting", [(0, 0, 1, ""), (0, 0, 1, "back"), (0, 3, 4, ""), (0, 3, 4, "back")]),
    ],
)
def test_a_row_that_does_not_hold_withdraws_the_one_before_once(
    accumulation: str, wanted: list[tuple[object, ...]]
) -> None:
    """The window counts 1 to 5 records, and 1 and 4 hold: revisions keep their numbers."""
    spec = pipeline({"having": "n IN (1, 4)", "accumulation": accumulation}, **UPDATE)
    lane: list[Any] = [(5, "a", 1)]
    for ts in (15, 25, 35, 45):
        lane += [(ts, "b", 1), (6, "a", 1)]
    rows = agreed(spec, log([*lane, (70, "b", 1)], []))
    assert [*told([row for row in rows if row.key == ("a",)])] == wanted


@pytest.mark.parametrize(
    "having",
    [
        "total > 2",
        "k = 'a'",
        "NOT k = 'a'",
        "n / (n - 2) > 0",  # fails where there are two
        "total IS NULL",
        "TRUE",
        "n > 1 AND 10 div (n - 1) > 4",
    ],
)
def test_null_and_failures_do_not_hold(having: str) -> None:
    lane: list[Any] = [(1, "a", 1), (2, "a", 2), (3, "b", None), (4, None, 3), (5, None, None)]
    every = agreed(pipeline({}), log(lane, []))
    kept = [row.key for row in agreed(pipeline({"having": having}), log(lane, []))]
    by_hand = {
        "total > 2": ["a", None],
        "k = 'a'": ["a"],
        "NOT k = 'a'": ["b"],
        "n / (n - 2) > 0": [],
        "total IS NULL": ["b"],
        "TRUE": [key for (key,) in (row.key for row in every)],
        "n > 1 AND 10 div (n - 1) > 4": ["a", None],
    }
    assert sorted(kept, key=str) == sorted([(key,) for key in by_hand[having]], key=str)


def test_what_is_infinite_has_no_value_to_whoever_asks_for_it() -> None:
    source = {"fields": {"k": "string?", "x": "float"}}
    document = pipeline({}).document
    shown = {"x": "sum(x)", "n": "count"}
    query = {**document["queries"]["q"], "aggregates": shown, "having": "n = 1 OR x > 5"}
    document = {**document, "source": {**document["source"], **source}, "queries": {"q": query}}
    spec = parse_pipeline(yaml.safe_dump(document, sort_keys=False))
    values = [("a", 1e308), ("b", 1e308), ("b", 1e308), ("c", 4.0), ("c", 4.0)]
    place = {"source": "s", "partition": 0}
    events = [{"value": {"ts": 1, "k": key, "x": x}} for key, x in values]
    events += [{"control": {"end": True}}]
    entries = [entry({**place, "offset": n, **one}) for n, one in enumerate(events)]
    entries.append(entry({**place, "partition": 1, "offset": 0, "control": {"end": True}}))
    assert [row.key for row in agreed(spec, entries)] == [("a",), ("c",)]


def test_an_absorbed_session_is_withdrawn_if_it_was_sent() -> None:
    spec = pipeline({"window": "SESSION 10 us WATTR ts", "having": "n = 1"}, **UPDATE)
    lane: list[Any] = [(5, "a", 1), (20, "a", 1), (50, "b", 1), (12, "a", 1), (90, "b", 1)]
    rows = [row for row in agreed(spec, log(lane, [])) if row.key == ("a",)]
    assert [
        (row.window_id, row.revision, row.records, row.tombstone, row.absorbed_by) for row in rows
    ] == [
        (5, 0, 1, False, None),
        (5, 1, 3, True, None),
        (20, 0, 1, False, None),
        (20, 1, 0, False, 5),
    ]


def test_early_rows_have_the_numbers_that_they_would_have() -> None:
    spec = pipeline({"having": "n <> 2", "early": {"records": 1}})
    engine = LocalEngine(spec)
    for batch in batches(log([(ts, "a", 1) for ts in (1, 2, 3, 4)], [], end=False), 1):
        engine.feed(batch)
    early = [(row.revision, row.records, row.tombstone) for row in engine.output.early]
    assert early == [(1, 1, False), (2, 2, True), (3, 3, False), (4, 4, False)]


_LANE = st.lists(
    st.tuples(
        st.integers(-3, 60), st.sampled_from(["a", "b", None]), st.sampled_from([1, 2, None])
    ),
    max_size=12,
)
_QUERIES = st.fixed_dictionaries(
    {
        "window": st.sampled_from(
            [
                TUMBLING,
                "RANGE 25 us SLIDE 10 us WATTR ts",
                "RANGE 4 us SLIDE 10 us WATTR ts",
                "RANGE 20 us SLIDE 5 us WATTR ts PATTR k",
                "RANGE 4 rows SLIDE 2 rows WATTR row_num ORDER event_time",
            ]
        )
    },
    optional={
        "empty": st.sampled_from([{"after": 1}, {"after": 2}, {"after": 30}]),
        "having": st.sampled_from(["n mod 2 = 1", "n = 0 OR total > 2", "some < n"]),
        "accumulation": st.sampled_from(["accumulating", "retracting"]),
        "from": st.just("1970-01-01T00:00:00.000020Z"),
        "until": st.just("1970-01-01T00:00:00.000055Z"),
    },
)


@settings(max_examples=_EXAMPLES)
@given(query=_QUERIES, lanes=st.tuples(_LANE, _LANE), late=st.booleans(), rows=st.integers(1, 6))
def test_engine_equals_definition_under_any_cut_and_restart(
    query: dict[str, Any], lanes: Any, late: bool, rows: int
) -> None:
    by_rows = "rows" in query["window"]
    if by_rows:
        query = {name: of for name, of in query.items() if name not in ("from", "until")}
    spec = pipeline(query, **(UPDATE if late and not by_rows else {}))
    entries = log(*lanes)
    engine = LocalEngine(spec)
    for batch in batches(entries, rows):
        engine.feed(batch)
        kept = engine.output
        state = engine.snapshot()
        engine = LocalEngine(spec)
        engine.restore(state)
        engine.output = kept
    defined = [row_line(row) for row in evaluate(spec, entries).rows]
    assert sorted(map(row_line, engine.output.rows)) == sorted(defined)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"empty": {"after": 0}}, "empty.after"),
        ({"empty": 3}, "empty"),
        ({"empty": {"after": 1}, "window": "SESSION 10 us WATTR ts"}, "none without records"),
        ({"empty": {"after": 1}, "window": "RANGE LANDMARK SLIDE 10 us WATTR ts"}, "landmark"),
        ({"having": "n"}, "having is true or false"),
        ({"having": "m > 1"}, "m is not known"),
        ({"having": "v > 1"}, "v is not known"),
        ({"having": "n > 'a'"}, "cannot be compared"),
        ({"having": ["n"]}, "is not a condition"),
        ({"having": "n > 1", "accumulation": "discarding"}, "discarding"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(query: dict[str, Any], said: str) -> None:
    with pytest.raises(PipelineError) as refused:
        pipeline(query)
    assert said in str(refused.value)
    assert "queries.q." in str(refused.value)


def test_without_the_keys_a_file_means_what_it_meant() -> None:
    plain = pipeline({})
    for query in ({"empty": {"after": 1}}, {"having": "n > 1"}):
        assert pipeline(query).fingerprint != plain.fingerprint
    assert json.dumps(plain.document).count("empty") == 0
