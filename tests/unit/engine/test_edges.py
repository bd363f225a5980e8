"""Edges, worked by hand: ties, nulls, instants that are just reached, and state made new each time.

What random logs hit too seldom; engine and definition are both held against the hand's result.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.strategies import Entry, entry
from windowing.engine.reading.batches import batches
from windowing.engine.reading.rules import ValueRules
from windowing.engine.reading.times import iso_us
from windowing.engine.reading.values import reading_of
from windowing.engine.tuning import tuned
from windowing.model import parse_pipeline
from windowing.model.rows import row_lines
from windowing.runtime.local import LocalEngine, run
from windowing.semantics import evaluate
from windowing.semantics.times import read_iso

# --- one small pipeline ----------------------------------------------------------------------

PIPELINE = """
name: p
source: {{topic: s, partitions: {lanes}, format: json, event_time: {{field: ts, unit: us}},
  fields: {{k: "string?", v: "int?"}}, disorder: {disorder}}}
late: {late}
shards: 2
queries: {{q: {{window: {window}, group_by: {key}, aggregates: {{n: count, vs: collect(v)}}}}}}
"""
Record = tuple[int, str | None] | dict[str, object]


def log_of(*lanes: Sequence[Record], end: bool = True) -> list[Entry]:
    """Records of lanes, of each time and key; `v` is its number in its lane; or controls."""
    log = []
    for partition, records in enumerate(lanes):
        for offset, one in enumerate([*records, *([{"end": True}] * end)]):
            content: dict[str, object] = {"control": one}
            if not isinstance(one, dict):
                content = {"value": {"ts": one[0], "k": one[1], "v": offset}}
            log.append(entry({"source": "s", "partition": partition, "offset": offset, **content}))
    return log


def shown(
    log: list[Entry],
    window: str,
    key: str = "[]",
    disorder: str = "{slack: 100 us}",
    late: str = "{policy: dead_letter}",
) -> list[tuple[object, ...]]:
    """Window, key, revision and values of each row: of the definition, and of the engine so too."""
    lanes = 1 + max(one.partition for one in log)
    text = PIPELINE.format(window=window, key=key, disorder=disorder, late=late, lanes=lanes)
    pipeline = parse_pipeline(text)
    rows = list(row_lines(evaluate(pipeline, log).rows))
    for cut in (1, 2, 100):
        with tuned(compact_after_deltas=cut):
            assert list(row_lines(run(pipeline, batches(log, cut, pipeline)).rows)) == rows
    found = [json.loads(row) for row in rows]
    return [(r["window_id"], *r["key"], r["revision"], r["values"]["vs"]) for r in found]


# --- ties ------------------------------------------------------------------------------------


def test_equal_times_share_a_rank_window() -> None:
    """Counts at 1, 5 and 9 are 1, 3 and 4: multiples of 2 are passed at 5 and at 9."""
    log = log_of([(1, "a"), (5, "a")], [(5, "a"), (9, "a")])
    window = "RANGE 10 us RATTR ts SATTR rank(ts) SLIDE 2 rows"
    assert shown(log, window) == [(5, 0, [0, 1, 0]), (9, 0, [0, 1, 0, 1])]
    assert shown(log_of([(5, "a")] * 4), window) == [(5, 0, [0, 1, 2, 3])]
    assert shown(
        log_of([(5, "a")] * 5, [(5, "a")]), "RANGE 1 us RATTR ts SATTR rank(ts) SLIDE 4 rows"
    ) == [(5, 0, [0, 1, 2, 3, 4, 0])]


def test_rows_of_equal_times_are_numbered_by_lane_and_offset() -> None:
    log = log_of([(5, "a"), (5, "b")], [(5, "c"), (4, "d")])
    window = "RANGE 2 rows SLIDE 2 rows WATTR row_num ORDER event_time"
    # 4 of lane 1 comes first, then lane 0's two, then lane 1's other.
    assert shown(log, window) == [(0, 0, [1, 0]), (1, 0, [1, 0])]


def test_the_first_and_last_of_equal_times_are_those_of_lane_and_offset() -> None:
    text = PIPELINE.replace(
        "n: count, vs: collect(v)", "f: first(v), l: last(v), m: 'argmax(ts, v)'"
    )
    text = text.replace('v: "int?"', 'v: "int?", ts: int')
    pipeline = parse_pipeline(
        text.format(
            lanes=2,
            disorder="{slack: 9 us}",
            late="{policy: drop}",
            key="[]",
            window="RANGE 9 us SLIDE 9 us WATTR ts",
        )
    )
    log = log_of([(5, "a"), (5, "b")], [(5, "c"), (5, "d"), (5, "e")])
    (row,) = run(pipeline, batches(log, 2, pipeline)).rows
    assert row.values == {"f": 0, "l": 2, "m": 0}
    assert list(row_lines(evaluate(pipeline, log).rows)) == list(row_lines([row]))


# --- null keys -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (
            "RANGE 2 rows SLIDE 2 rows WATTR row_num PATTR k",
            [(0, None, 0, [0, 2]), (0, "a", 0, [1, 4]), (1, None, 0, [3])],
        ),
        (
            "RANGE 9 us SLIDE 9 us WATTR ts PATTR k",
            [(0, None, 0, [0, 2, 3]), (0, "a", 0, [1, 4])],
        ),
        (
            "SESSION 2 us WATTR ts PATTR k",
            [(0, None, 0, [0]), (1, "a", 0, [1]), (2, None, 0, [2, 3]), (4, "a", 0, [4])],
        ),
        (
            "RANGE 9 us RATTR ts SATTR row_num SLIDE 2 rows PATTR k",
            [(2, None, 0, [0, 2]), (4, "a", 0, [1, 4])],
        ),
    ],
)
def test_null_is_a_value_of_pattr_like_any_other(
    window: str, expected: list[tuple[object, ...]]
) -> None:
    assert shown(log_of([(0, None), (1, "a"), (2, None), (3, None), (4, "a")]), window) == expected


# --- just reached ----------------------------------------------------------------------------


def test_a_row_is_sent_when_its_instant_is_reached_and_never_again() -> None:
    """Window 0 ends at 10, its late epoch at 20; each is reached exactly, and then stood upon."""
    controls = [{"bound": bound} for bound in (9, 10, 10, 19, 20, 20, 21)]
    records: list[Record] = [(1, "a"), *controls[:3], (2, "a"), *controls[3:]]
    text = PIPELINE.format(
        lanes=1,
        disorder="punctuation",
        late="{policy: update, every: 10 us}\nretention: 50 us",
        key="[]",
        window="RANGE 10 us SLIDE 10 us WATTR ts",
    )
    pipeline = parse_pipeline(text)
    log = log_of(records, end=False)
    engine = LocalEngine(pipeline)
    sent = []
    for batch in batches(log, 1):
        before = len(engine.output.rows)
        engine.feed(batch)
        sent.append([row.revision for row in engine.output.rows[before:]])
    # offsets: 0 record, 1-3 bounds 9, 10, 10, 4 late record, 5-8 bounds 19, 20, 20, 21
    assert sent == [[], [], [0], [], [], [], [1], [], []]
    assert list(row_lines(engine.output.rows)) == list(row_lines(evaluate(pipeline, log).rows))


@pytest.mark.parametrize(("ts", "reason"), [(9, "late"), (10, None)])
def test_a_record_at_the_progress_is_on_time_and_one_below_is_late(
    ts: int, reason: str | None
) -> None:
    for window in ("SESSION 1 us WATTR ts", "RANGE 1 us SLIDE 1 us WATTR ts"):
        text = PIPELINE.format(
            lanes=1, disorder="punctuation", late="{policy: dead_letter}", key="[]", window=window
        )
        pipeline, log = parse_pipeline(text), log_of([{"bound": 10}, (ts, "a")])
        dead = run(pipeline, batches(log, 1)).dead_letters
        assert [one.reason for one in dead] == ([] if reason is None else [reason])
        assert evaluate(pipeline, log).dead == dead


# --- bounds of single keys -------------------------------------------------------------------


@pytest.mark.parametrize("cut", [1, 2, 9])
def test_a_bound_of_a_key_that_falls_back_takes_nothing_back(cut: int) -> None:
    """20 was promised for a; 10 promises less, and 15 is late all the same; for b it is not."""
    text = PIPELINE.format(
        lanes=1,
        disorder="{punctuation: {attr: k}}",
        late="{policy: dead_letter}",
        key="[k]",
        window="RANGE 10 us SLIDE 10 us WATTR ts",
    )
    controls = [{"bound": bound, "on": {"k": "a"}} for bound in (20, 10)]
    log = log_of([*controls, (15, "a"), (15, "b"), {"bound": 5}, (12, "a"), (12, "b")])
    pipeline = parse_pipeline(text)
    found = run(pipeline, batches(log, cut))
    assert [(one.offset, one.reason) for one in found.dead_letters] == [(2, "late"), (5, "late")]
    outcome = evaluate(pipeline, log)
    assert outcome.dead == found.dead_letters
    assert list(row_lines(outcome.rows)) == list(row_lines(found.rows))


def test_a_bound_of_the_lane_counts_for_its_keys_too() -> None:
    log = log_of([{"bound": 30, "on": {"k": "a"}}, {"bound": 40}, (35, "a"), (35, "b"), (45, "b")])
    rows = shown(log, "RANGE 10 us SLIDE 10 us WATTR ts", "[k]", "{punctuation: {attr: k}}")
    assert rows == [(4, "b", 0, [4])]


def test_a_change_of_the_queries_is_no_bound_of_a_key() -> None:
    """Nor of the null one, whose records may be older than the epoch."""
    disorder = "{punctuation: {attr: k}}, control: all"
    log = log_of([{"queries": {"remove": {"nobody": 30}}}, (-15, None), (5, "a"), {"bound": 30}])
    rows = shown(log, "SESSION 10 us WATTR ts", "[k]", disorder)
    assert [(key, values) for _, key, _, values in rows] == [(None, [1]), ("a", [2])]


# --- other processes -------------------------------------------------------------------------
ELSEWHERE = PIPELINE.format(
    lanes=1,
    disorder="{slack: 50 us}",
    late="{policy: update, every: 7 us}\nretention: 20 us",
    key="[k]",
    window="RANGE 9 us SLIDE 3 us WATTR ts",
).replace("vs: collect(v)", "vs: 'approx_count_distinct(v, 16)', c: count_distinct(k)")


# --- fractions of seconds --------------------------------------------------------------------

_TIMED = PIPELINE.format(
    lanes=1,
    disorder="ordered",
    late="{policy: drop}",
    key="[]",
    window="RANGE 1 s SLIDE 1 s WATTR ts",
).replace("unit: us", "unit: iso")


@given(
    day=st.dates(),
    second=st.integers(0, 86_399),
    digits=st.text("0123456789", min_size=1, max_size=13),
    minutes=st.integers(-1439, 1439) | st.none(),
)
@example(day=date(1969, 12, 31), second=86_399, digits="9", minutes=None)
def test_fractions_are_of_a_second_whatever_their_length(
    day: date, second: int, digits: str, minutes: int | None
) -> None:
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    sign = "-" if (minutes or 0) < 0 else "+"
    size = abs(minutes or 0)
    zone = "Z" if minutes is None else f"{sign}{size // 60:02}:{size % 60:02}"
    text = f"{day}T{clock}.{digits}{zone}"
    days = day.toordinal() - date(1970, 1, 1).toordinal()
    expected = (days * 86_400 + second - (minutes or 0) * 60) * 1_000_000
    expected += int(digits[:6].ljust(6, "0"))
    legal = expected if len(digits) <= 12 else None
    assert read_iso(text) == legal
    rules = ValueRules.of(parse_pipeline(_TIMED))
    value = json.dumps({"ts": text, "k": None, "v": None}).encode()
    assert iso_us(text) == legal
    if legal is not None:
        assert reading_of(rules).exact(value, None).ts_us == legal
