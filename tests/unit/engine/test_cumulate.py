"""Windows that cumulate: numbers against the definition, results, and what they cost."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import Entry, entry
from windowing.engine.aggregates import Accumulators
from windowing.engine.columns import (
    FIRST_WINDOW,
    LAST_WINDOW,
    PARTITION,
    RECORDS,
    field_column,
)
from windowing.engine.plan import plan_flow
from windowing.engine.progress.reached import LaneProgress, StreamProgress
from windowing.engine.reading.batches import batches
from windowing.engine.tuning import tuned
from windowing.engine.wids import NOTHING_YET
from windowing.engine.windows.cumulate import CumulatingCalendar, numbering_of
from windowing.engine.windows.part import Scan
from windowing.engine.windows.sliding_lane import PARTIALS
from windowing.model import Pipeline, Query, parse_pipeline
from windowing.model.errors import PipelineError
from windowing.model.rows import Row
from windowing.model.windows.cumulate import Cumulate
from windowing.runtime.local import run
from windowing.semantics import evaluate
from windowing.semantics.windows.classes import extents_of
from windowing.semantics.windows.cumulate import CumulateDefinition

HOUR = 3_600_000_000
# Days of 23 and 25 hours, 23½ and 24½; a day left out; midnights skipped, and ones that come twice.
CHANGES = {
    "Europe/Berlin": "2026-03-29 2026-10-25",
    "Australia/Lord_Howe": "2026-04-05 2026-10-04",
    "Pacific/Apia": "2011-12-30 2012-04-01",
    "America/Sao_Paulo": "2018-02-18 2018-11-04",
    "America/Juneau": "1867-10-18 1867-10-19",
}


DROP = "late: {policy: drop}"
AGGREGATES = "n: count, s: sum(v), d: count_distinct(v)"


def pipeline_of(clauses: str, late: str = DROP, aggregates: str = AGGREGATES) -> Pipeline:
    return parse_pipeline(f"""
name: p
source:
  topic: s
  partitions: 2
  format: json
  event_time: {{field: ts, unit: us, min: "0001-01-01", max: "9999-01-01"}}
  fields: {{k: string, v: int}}
  disorder: {{slack: 0 seconds}}
{late}
queries:
  w: {{window: {clauses}, group_by: [k], aggregates: {{{aggregates}}}}}
""")


def query_of(pipeline: Pipeline) -> Query:
    (query,) = pipeline.of(Query)
    return query


@st.composite
def clauses(draw: st.DrawFn) -> tuple[str, list[int]]:
    """Draw a window, and instants where it begins anew and anywhere else."""
    near = st.integers(-40, 40)
    if draw(st.booleans()):
        slide, steps = draw(st.integers(1, 9)), draw(st.integers(1, 7))
        origin = draw(st.integers(-30, 30))
        text = f"RANGE CUMULATE {slide * steps} us SLIDE {slide} us WATTR ts ORIGIN {origin} us"
        return text, draw(st.lists(near, min_size=1, max_size=9))
    zone = draw(st.sampled_from([*CHANGES]))
    unit = draw(st.sampled_from(["day", "day", "week", "month", "quarter", "year"]))
    slide = draw(st.sampled_from(["1 hour", "7 hours", "90 minutes", "1 day", "400 days"]))
    origin = draw(st.sampled_from(["", " ORIGIN 6 hours", " ORIGIN 30 minutes"]))
    days = [np.datetime64(day, "us").astype(np.int64) for day in CHANGES[zone].split()]
    minutes = st.integers(-40 * 60, 40 * 60).map(lambda one: one * 60_000_000)
    beside = st.builds(lambda day, by: int(day) + by, st.sampled_from(days), minutes)
    instants = st.lists(beside | st.integers(-(10**15), 10**16), min_size=1, max_size=9)
    return f"RANGE CUMULATE 1 {unit} SLIDE {slide} WATTR ts ZONE {zone}{origin}", draw(instants)


@settings(max_examples=80)
@given(clauses())
def test_numbers_and_extents_are_those_of_the_definition(drawn: tuple[str, list[int]]) -> None:
    text, instants = drawn
    query = query_of(pipeline_of(text))
    definition = extents_of(query)
    assert isinstance(definition, CumulateDefinition)
    assert isinstance(query.window, Cumulate)
    numbering = numbering_of(query.window)
    values = np.array(sorted(instants))
    first, last = numbering.span(values)
    assert (first == numbering.open_from(values))[~numbering.outside(values)].all()
    assert (last == numbering.last(values)).all()
    for at, value in enumerate(values.tolist()):
        outside = bool(numbering.outside(values)[at])
        assert outside == (definition.outside(value) == "before_origin")
        if outside:
            continue
        held = definition.wids(value)
        assert range(int(first[at]), int(last[at]) + 1) == held
        # A window holds a value iff its extent does, and ids rise with ends.
        for wid in (held[0], held[-1]):
            start, end = definition.extent(wid)
            assert numbering.bounds(wid) == (start, end)
            assert numbering.ends(np.array([wid])).tolist() == [end]
            assert start <= value < end
        ends = [definition.extent(wid)[1] for wid in held[:5]]
        assert all(one < other for one, other in pairwise(ends))
        # The first window of the next period begins where this one ends, and has a higher number.
        (_, end) = definition.extent(held[-1])
        following = definition.wids(end)[0]
        assert following == definition.next(held[-1])
        assert following > held[-1]
        assert definition.extent(following)[0] == end
        assert numbering.ended_by(np.array([end])).tolist() == [following - 1]
        if isinstance(numbering, CumulatingCalendar):
            ids = np.arange(held[0] - held[0] % numbering.steps, following + 1)
            third = definition.next(definition.next(definition.next(held[0])))
            assert numbering.after(np.array([held[0]]), 3).tolist() == [third]
            known = [ids[0].item()]
            while known[-1] < following:
                known.append(definition.next(known[-1]))
            assert ids[numbering.exist(ids)].tolist() == known


def entries(records: list[tuple[int, int, str, int]]) -> list[Entry]:
    """Return a log of (lane, time, key, value), whose lanes end."""
    offsets, found = [0, 0], list[Entry]()
    for lane, ts, key, value in records:
        one = {"ts": ts, "k": key, "v": value}
        found.append(
            entry({"source": "s", "partition": lane, "offset": offsets[lane], "value": one})
        )
        offsets[lane] += 1
    ends = [{"source": "s", "partition": lane, "offset": at} for lane, at in enumerate(offsets)]
    return [*found, *(entry({**end, "control": {"end": True}}) for end in ends)]


def rows_of(pipeline: Pipeline, log: list[Entry]) -> list[Row]:
    """Return the rows of a log that comes in one batch, by window."""
    rows = run(pipeline, batches(log, len(log), pipeline)).rows
    return sorted(rows, key=lambda row: (row.window_id, row.key, row.revision))


LOCAL = "RANGE CUMULATE 1 day SLIDE 1 hour WATTR ts ZONE {}"


@pytest.mark.parametrize(
    ("zone", "day", "windows"),
    [
        ("Europe/Berlin", "2026-03-28", 24),
        ("Europe/Berlin", "2026-03-29", 23),
        ("Europe/Berlin", "2026-10-25", 25),
        ("Australia/Lord_Howe", "2026-04-05", 25),
        ("Australia/Lord_Howe", "2026-10-04", 24),
        ("Pacific/Apia", "2011-12-31", 24),
    ],
)
def test_a_local_day_has_as_many_windows_as_hours_have_begun(
    zone: str, day: str, windows: int
) -> None:
    pipeline = pipeline_of(LOCAL.format(zone))
    definition = extents_of(query_of(pipeline))
    midnight = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone))
    start = int(midnight.timestamp()) * 1_000_000
    assert definition.extent(definition.wids(start)[0]) == (start, start + HOUR)
    log = entries([(0, start, "a", 1), (1, start + 2 * HOUR, "a", 2)])
    rows = rows_of(pipeline, log)
    assert len(rows) == windows
    assert [row.values["s"] for row in rows] == [1, 1, *[3] * (windows - 2)]
    days = int((np.datetime64(day) - np.datetime64("1970-01-01")).astype(np.int64))
    assert [row.window_id for row in rows] == [days * 48 + hour for hour in range(windows)]
    assert rows == evaluate(pipeline, log).rows


MINUTES = "RANGE CUMULATE 60 us SLIDE 1 us WATTR ts"
UPDATE = "late: {policy: update, every: 100 us}\nretention: 1 day"


def merged_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by how many rows of partial states are merged at a time."""
    counts, merge = list[int](), Accumulators.merge

    def counting(self: Accumulators, states: pl.DataFrame, by: Any) -> pl.DataFrame:
        counts.append(len(states))
        return merge(self, states, by)

    monkeypatch.setattr(Accumulators, "merge", counting)
    return counts


@pytest.mark.parametrize("rolled", [True, False])
def test_windows_that_close_together_cost_what_they_send(
    rolled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 60 slices is in up to 60 windows: 1,830 pairs per key, and 60 rows."""
    more = "" if rolled else ", d: count_distinct(v)"
    pipeline = pipeline_of(MINUTES, aggregates=f"n: count, s: sum(v){more}")
    log = entries([(lane, 60 + ts, f"k{lane}", ts) for ts in range(60) for lane in (0, 1)])
    counts = merged_rows(monkeypatch)
    with tuned(compiled_from_rows=1):
        rows = rows_of(pipeline, log)
    assert len(rows) == 120
    assert max(counts) <= 3 * len(rows)
    assert [row.values["s"] for row in rows if row.key == ("k1",)][-3:] == [1653, 1711, 1770]


def test_late_records_of_an_epoch_cost_what_they_send(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = pipeline_of(MINUTES, UPDATE)
    late = [(lane, ts, "a", 1) for ts in range(59) for lane in (0, 1)]
    log = entries([(0, 0, "a", 1), (0, 200, "b", 1), (1, 200, "b", 1), *late])
    counts = merged_rows(monkeypatch)
    with tuned(compiled_from_rows=1):
        rows = [row for row in rows_of(pipeline, log) if row.key == ("a",)]
    assert [row.records for row in rows if row.revision == 1] == [
        1 + 2 * min(number + 1, 59) for number in range(60)
    ]
    # In each lane a late state of every window, and what it held before.
    assert max(counts) <= 4 * 60


def test_what_has_closed_for_good_is_one_state_per_key_and_period() -> None:
    pipeline = pipeline_of(MINUTES)
    plan = plan_flow(query_of(pipeline), pipeline)
    times = np.arange(0, 90)
    data = pl.DataFrame({"ts_us": times, "offset": times}).with_columns(
        pl.lit("a").alias(field_column("k")), pl.lit(1).alias(field_column("v"))
    )
    before = np.full(len(times), NOTHING_YET)
    tables = plan.lane_part(pipeline).assign(Scan(0, data, times, before))[1]
    assert len(tables[PARTIALS]) == 90
    lane = pl.lit(0, dtype=pl.Int32).alias(PARTITION)
    state = {PARTIALS: tables[PARTIALS].with_columns(lane)}
    part = plan.shard_part(pipeline)
    kept = part.retained(state, StreamProgress([LaneProgress(40, 40, 89)]))[PARTIALS]
    spans = kept.select(FIRST_WINDOW, LAST_WINDOW, RECORDS).rows()
    # Windows up to 39 have ended: 41 records are in all that follow in this period.
    assert spans[0] == (40, 59, 41)
    assert len(spans) == 20 + 30
    assert part.retained(state, StreamProgress([LaneProgress(85, 85, 89)]))[PARTIALS].select(
        FIRST_WINDOW, LAST_WINDOW, RECORDS
    ).rows()[0] == (85, 119, 26)


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        ("RANGE CUMULATE 1 day SLIDE 7 hours WATTR ts", "E_VALUE", "a multiple of the slide"),
        ("RANGE CUMULATE 1 day SLIDE 0 hours WATTR ts", "E_VALUE", "positive"),
        ("RANGE CUMULATE SLIDE 1 hour WATTR ts", "E_SYNTAX", "not a length"),
        ("CUMULATE 1 day SLIDE 1 hour WATTR ts", "E_SYNTAX", "write RANGE CUMULATE"),
        ("RANGE CUMULATE 1 day SLIDE 1 hour WATTR ts ALIGN start", "E_ORIGIN", "ALIGN"),
        ("RANGE CUMULATE 9 rows SLIDE 3 rows WATTR row_num", "E_LANDMARK", "not with rows"),
        ("RANGE CUMULATE 9 us SLIDE 3 rows RATTR ts SATTR row_num", "E_LANDMARK", "not with rows"),
        ("RANGE CUMULATE 1 week SLIDE 1 hour WATTR ts", "E_SYNTAX", "ZONE"),
        ("RANGE CUMULATE 2 days SLIDE 1 hour WATTR ts ZONE Asia/Tokyo", "E_UNIT", "one day"),
        ("RANGE CUMULATE 9 hours SLIDE 1 hour WATTR ts ZONE Asia/Tokyo", "E_UNIT", "one day"),
        ("RANGE CUMULATE 1 year SLIDE 1 month WATTR ts ZONE Asia/Tokyo", "E_UNIT", "hours"),
        ("RANGE CUMULATE 9 SLIDE 3 WATTR v ZONE Asia/Tokyo", "E_ZONE", "over a time"),
        ("RANGE CUMULATE 1 day SLIDE 1 us WATTR ts", "E_VALUE", "1,000,000"),
        ("RANGE CUMULATE 1 day SLIDE 1 us WATTR ts ZONE Asia/Tokyo", "E_VALUE", "1,000,000"),
    ],
)
def test_what_is_no_window_has_a_code_and_says_what_to_write(
    text: str, code: str, why: str
) -> None:
    with pytest.raises(PipelineError) as refused:
        pipeline_of(text)
    assert code in str(refused.value)
    assert why in str(refused.value)


def test_a_mapping_spells_the_same_window() -> None:
    (text, mapping) = (
        query_of(pipeline_of(one)).window
        for one in (
            "RANGE CUMULATE 1 day SLIDE 1 hour WATTR ts ZONE Asia/Tokyo",
            "{range: CUMULATE 1 day, slide: 1 hour, wattr: ts, zone: Asia/Tokyo}",
        )
    )
    assert text == mapping
