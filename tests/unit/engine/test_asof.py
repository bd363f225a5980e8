"""As-of joins: the definition's bytes, however the logs come; and DuckDB's pairs, if none is late.

What each rule means is in `tests/data/rules/asof.yml`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.simulator.draw.wish import ASOF_JOIN
from tests.strategies import Event, entry, interleavings, join_cases
from tests.unit.engine.test_classes import check
from windowing.engine.reading.batches import batches
from windowing.engine.tuning import tuned
from windowing.model import Pipeline, parse_pipeline
from windowing.model.errors import PipelineError
from windowing.model.rows import row_lines
from windowing.runtime.local import LocalEngine
from windowing.semantics import evaluate

_FEW = max(settings.default.max_examples // 4, 5) if settings.default else 5

Placed = tuple[int, str | None]
"""The time and the key of a record."""


@settings(max_examples=_FEW)
@given(data=st.data())
def test_engine_equals_definition(data: st.DataObject) -> None:
    check(data.draw(join_cases(kind=ASOF_JOIN)), data=data)


ASOF = """
name: j
join:
  left:
    source: {{topic: {left}, partitions: {lanes}, format: json,
      event_time: {{field: ts, unit: us}}, fields: {{k: "string?", v: int}}, disorder: ordered}}
  right:
    source: {{topic: {right}, partitions: {lanes}, format: json,
      event_time: {{field: ts, unit: us}}, fields: {{k: "string?", w: int}}, disorder: ordered}}
  kind: asof
  within: {within} us
  equal: [k]
  select: {{v: left.v, w: right.w}}
late: {late}
shards: 2
"""
_UPDATE = "{policy: update, every: 4 us}\nretention: 9 us"


def asof(
    within: int, late: str, *, left: str = "l", right: str = "r", lanes: int = 1
) -> tuple[str, Pipeline]:
    text = ASOF.format(within=within, late=late, left=left, right=right, lanes=lanes)
    return text, parse_pipeline(text)


def lane(topic: str, field: str, number: int, records: Sequence[Placed]) -> tuple[Event, ...]:
    return tuple(
        {
            "source": topic,
            "partition": number,
            "offset": offset,
            "value": {"ts": ts, "k": key, field: 100 * number + offset},
        }
        for offset, (ts, key) in enumerate(records)
    )


_KEYS = st.sampled_from(["a", "a", "b", None])
_LANE = st.lists(st.tuples(st.integers(0, 25), _KEYS), max_size=9)
_LANES = st.tuples(_LANE, _LANE, _LANE, _LANE)


@settings(max_examples=4 * _FEW)
@given(
    data=st.data(),
    records=_LANES,
    within=st.integers(0, 12),
    late=st.sampled_from(["{policy: drop}", _UPDATE, _UPDATE]),
)
def test_few_instants_and_much_disorder(
    data: st.DataObject, records: tuple[list[Placed], ...], within: int, late: str
) -> None:
    # Records at equal times, late ones on both sides; no lane ends, and any may lag behind.
    _, pipeline = asof(within, late, lanes=2)
    lanes = tuple(
        lane(topic, field, number, records[2 * side + number])
        for side, (topic, field) in enumerate([("l", "v"), ("r", "w")])
        for number in (0, 1)
    )
    log = [entry(event) for event in data.draw(interleavings(lanes))]
    expected = list(row_lines(evaluate(pipeline, log).rows))
    cut, rows = data.draw(st.integers(0, len(log))), data.draw(st.integers(1, 9))
    with tuned(compact_after_deltas=data.draw(st.sampled_from([0, 1, 3]))):
        engine = LocalEngine(pipeline)
        for batch in batches(log[:cut], rows, pipeline):
            engine.feed(batch)
        other = LocalEngine(pipeline)
        other.restore(engine.snapshot())
        for batch in batches(log[cut:], 2, pipeline):
            other.feed(batch)
    found = {*row_lines(engine.output.rows), *row_lines(other.output.rows)}
    assert sorted(found) == sorted(expected)
    for before, line in zip([None, *expected], expected, strict=False):
        if (row := json.loads(line)).pop("op", None):
            assert before is not None
            assert json.loads(before) == row


@settings(max_examples=_FEW)
@given(
    times=st.lists(st.integers(0, 60), max_size=24, unique=True),
    keys=st.lists(_KEYS, min_size=24, max_size=24),
    sides=st.lists(st.booleans(), min_size=24, max_size=24),
    within=st.integers(0, 30),
)
def test_without_late_records_the_pairs_are_those_of_duckdb(
    times: list[int], keys: list[str | None], sides: list[bool], within: int
) -> None:
    import duckdb  # loaded before tests are collected, it would be frozen with them

    placed = list(zip(sorted(times), keys, sides, strict=False))
    left, right = ([(ts, k) for ts, k, own in placed if own == side] for side in (True, False))
    _, pipeline = asof(within, "{policy: drop}")
    log = [*lane("l", "v", 0, left), *lane("r", "w", 0, [*right, (99, None)])]
    engine = LocalEngine(pipeline)
    for batch in batches(map(entry, log), 5, pipeline):
        engine.feed(batch)
    found = {(row.values["v"], row.values["w"]) for row in engine.output.rows}
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.execute("CREATE TABLE l (ts BIGINT, k VARCHAR, n BIGINT)")
        connection.execute("CREATE TABLE r AS FROM l")
        for number, record in enumerate(left):
            connection.execute("INSERT INTO l VALUES (?, ?, ?)", [*record, number])
        for number, record in enumerate(right):
            connection.execute("INSERT INTO r VALUES (?, ?, ?)", [*record, number])
        query = """SELECT l.n, CASE WHEN r.ts >= l.ts - ? THEN r.n END
            FROM l ASOF LEFT JOIN r ON l.k = r.k AND l.ts >= r.ts"""
        assert found == set(connection.execute(query, [within]).fetchall())
    assert len(engine.output.rows) == len(left)


@pytest.mark.parametrize(("left", "right"), [("trades", "prices"), ("L", "R"), ("R", "L")])
def test_no_row_depends_on_names_of_topics(left: str, right: str) -> None:
    _, pipeline = asof(5, _UPDATE, left=left, right=right)
    trades = lane(left, "v", 0, [(10, "a"), (20, "a")])
    prices = lane(right, "w", 0, [(9, "a"), (10, "a"), (10, "a"), (20, "a"), (30, "a"), (19, "a")])
    rows = evaluate(pipeline, map(entry, [*trades, *prices])).rows
    engine = LocalEngine(pipeline)
    for batch in batches(map(entry, [*trades, *prices]), 3, pipeline):
        engine.feed(batch)
    assert list(row_lines(engine.output.rows)) == list(row_lines(rows))
    assert [row.values for row in rows] == [{"v": 0, "w": 2}, {"v": 1, "w": 3}]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  within: 3 us\n", "", "join.within: kind: asof needs within"),
        ("within: 3 us", "within: 3", "join.within: 3 is not a length of time"),
        ("kind: asof", "kind: left", "within says how old the partner in an as-of join may be"),
        (
            "  equal",
            "  where: [left.v < right.w]\n  equal",
            "join.where: where does not say whether",
        ),
        (
            "kind: asof",
            "kind: asof\n  operator: join",
            "join.operator: kind: asof goes by event time",
        ),
        (
            "disorder: ordered}\n  right",
            "disorder: ordered}\n    window: 3 s\n  right",
            "join.left.window: ",
        ),
        ("topic: r, partitions: 1", "topics: {r: 1, q: 1}", "a side of a join reads one topic"),
    ],
)
def test_what_an_as_of_join_cannot_be_is_refused(old: str, new: str, said: str) -> None:
    text, _ = asof(3, "{policy: drop}")
    assert old in text
    with pytest.raises(PipelineError, match=said):
        parse_pipeline(text.replace(old, new, 1))
