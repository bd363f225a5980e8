"""Windows of local time: numbers against the definition, results by hand, what is shared."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.tools.punctuate import step_of
from tests.strategies.cases import lane_of
from windowing.engine.families.forming import families_of
from windowing.engine.plan import plan_of
from windowing.engine.reading.batches import batches
from windowing.engine.tuning import tuned
from windowing.engine.windows.classes import parts_of
from windowing.engine.zones import transitions
from windowing.explain import calendar as explained
from windowing.explain.capacity import kind_of
from windowing.explain.pipeline import explain
from windowing.model import Pipeline, Query, parse_pipeline
from windowing.model.errors import PipelineError
from windowing.model.rows import Row
from windowing.model.zones import installed_zone
from windowing.runtime.local import run
from windowing.semantics.windows.calendar import CalendarDefinition
from windowing.semantics.windows.classes import extents_of

MINUTE = 60_000_000
ZONES = [
    *("Europe/Berlin", "Africa/Cairo", "Asia/Beirut", "America/Sao_Paulo", "America/Havana"),
    *("Pacific/Apia", "Australia/Lord_Howe", "Asia/Tehran", "UTC"),
]
BERLIN = "RANGE 1 day SLIDE 1 day WATTR ts ZONE Europe/Berlin"


def pipeline_of(*windows: str, more: str = "") -> Pipeline:
    queries = "\n".join(
        f"  q{place}: {{window: {window}, aggregates: {{n: count}}{more}}}"
        for place, window in enumerate(windows)
    )
    return parse_pipeline(f"""
name: p
source: {{topic: s, partitions: 1, format: json, event_time: {{field: ts, unit: iso}},
  fields: {{n: "int?"}}, disorder: {{slack: 0 seconds}}}}
queries:
{queries}
""")


def queries_of(pipeline: Pipeline) -> list[Query]:
    return list(pipeline.of(Query))


def rows_of(pipeline: Pipeline, *times: str) -> list[Row]:
    log = lane_of([*({"value": {"ts": time}} for time in times), {"control": {"end": True}}])
    return run(pipeline, batches(log, 2, pipeline)).rows


def utc(time: str) -> int:
    return int(datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp()) * 1_000_000


@st.composite
def windows(draw: st.DrawFn) -> tuple[str, list[int]]:
    """Draw windows, and instants beside changes of their zone's clocks and anywhere."""
    zone, months = draw(st.sampled_from(ZONES)), draw(st.booleans())
    units = ["month", "quarter", "year"] if months else ["day", "day", "week"]
    slide, range_ = (f"{draw(st.integers(1, 4))} {draw(st.sampled_from(units))}" for _ in "sr")
    origin = draw(st.sampled_from(["", " ORIGIN 6 hours", " ORIGIN 30 min", " ORIGIN 23 hours"]))
    changes = transitions(installed_zone(zone)).starts
    near = changes[(changes > -(10**15)) & (changes < 4 * 10**15)].tolist() or [0]
    minutes = st.integers(-60 * 60, 60 * 60).map(lambda one: one * MINUTE)
    beside = st.builds(lambda change, by: change + by, st.sampled_from(near), minutes)
    anywhere = st.integers(-(10**14), 5 * 10**15) | st.integers(-(2**59), 2**59)
    found = draw(st.lists(beside | beside | anywhere, min_size=1, max_size=8))
    return f"RANGE {range_} SLIDE {slide} WATTR ts ZONE {zone}{origin}", found


@settings(max_examples=60)
@given(windows())
def test_numbers_and_extents_are_those_of_the_definition(drawn: tuple[str, list[int]]) -> None:
    text, instants = drawn
    (query,) = queries_of(pipeline_of(text))
    numbering, definition = parts_of(query.window).numbering, extents_of(query)
    assert numbering is not None
    assert isinstance(definition, CalendarDefinition)
    values = np.array(sorted(instants))
    first, last = numbering.span(values)
    outside = numbering.outside(values)
    for value, low, high, is_out in zip(values.tolist(), first, last, outside, strict=True):
        wids = definition.wids(value)
        assert is_out == (definition.outside(value) == "before_origin")
        assert list(wids) == ([] if is_out else list(range(low, high + 1)))
        assert list(definition.every(value)) == list(wids)
    inside = first[~outside]
    assert (numbering.open_from(values)[~outside] == inside).all()
    extents = [definition.extent(wid) for wid in inside.tolist()]
    assert [numbering.bounds(wid) for wid in inside.tolist()] == extents
    assert numbering.ends(inside).tolist() == [end for _, end in extents]
    # Numbers rise with ends, and windows without gaps or overlaps partition time.
    numbers = sorted({*inside.tolist(), *(inside + 1).tolist()})
    ends = numbering.ends(np.array(numbers, np.int64)).tolist()
    assert all(low <= high for low, high in pairwise(ends))


def test_days_partition_time_wherever_clocks_change() -> None:
    for zone in ZONES:
        (query,) = queries_of(pipeline_of(f"RANGE 1 day SLIDE 1 day WATTR ts ZONE {zone}"))
        numbering = parts_of(query.window).numbering
        assert numbering is not None
        days = np.arange(20_000, dtype=np.int64)
        starts = np.concatenate([[numbering.bounds(0)[0]], numbering.ends(days)])
        assert (np.diff(starts) >= 0).all()
        for by in (0, -1):
            at = starts[1:-1] + by
            first, last = numbering.span(at)
            assert (first == last).all()
            assert ((starts[first] <= at) & (at < starts[first + 1])).all()


def test_a_day_has_23_hours_and_another_one_25() -> None:
    pipeline = pipeline_of(BERLIN)
    rows = rows_of(
        pipeline,
        *("2024-03-30T22:59:59Z", "2024-03-30T23:00:00Z", "2024-03-31T21:59:59Z"),
        *("2024-03-31T22:00:00Z", "2024-10-26T22:00:00Z", "2024-10-27T22:59:59Z"),
    )
    assert [
        (row.window_id, row.window_start_us, row.window_end_us, row.records) for row in rows
    ] == [
        (19812, utc("2024-03-29T23:00"), utc("2024-03-30T23:00"), 1),
        (19813, utc("2024-03-30T23:00"), utc("2024-03-31T22:00"), 2),
        (19814, utc("2024-03-31T22:00"), utc("2024-04-01T22:00"), 1),
        (20023, utc("2024-10-26T22:00"), utc("2024-10-27T23:00"), 2),
    ]


def test_a_day_that_a_zone_leaves_out_has_no_records() -> None:
    """It ends with the day before it, and a week over it has six days."""
    days = "RANGE 1 day SLIDE 1 day WATTR ts ZONE Pacific/Apia"
    week = "RANGE 7 days SLIDE 1 day WATTR ts ZONE Pacific/Apia"
    pipeline = pipeline_of(days, week)
    rows = rows_of(pipeline, "2011-12-30T09:59:59Z", "2011-12-30T10:00:00Z")
    of_days = [
        (row.window_id, row.window_start_us, row.window_end_us) for row in rows if row.query == "q0"
    ]
    change = utc("2011-12-30T10:00")
    assert of_days == [
        (15337, utc("2011-12-29T10:00"), change),
        (15339, change, utc("2011-12-31T10:00")),
    ]
    ends = [(row.window_id, row.window_end_us) for row in rows if row.query == "q1"][:3]
    assert ends == [(15337, change), (15338, change), (15339, utc("2011-12-31T10:00"))]


def test_records_before_1970_are_outside() -> None:
    pipeline = pipeline_of("RANGE 2 weeks SLIDE 1 week WATTR ts ZONE Asia/Tokyo")
    rows = rows_of(pipeline, "1970-01-04T14:59:59Z", "1970-01-04T15:00:00Z")
    first = utc("1970-01-04T15:00")
    assert [(row.window_id, row.window_start_us, row.records) for row in rows] == [
        (0, first, 1),
        (1, first, 1),
    ]


@pytest.mark.parametrize(
    ("window", "says"),
    [
        ("RANGE 1 day SLIDE 1 day WATTR ts ZONE Europe/Berlim", "E_ZONE.*Europe/Berlin"),
        ("RANGE 1 day SLIDE 1 day WATTR n ZONE Asia/Tokyo", "E_ZONE: ZONE goes with"),
        ("RANGE LANDMARK SLIDE 1 day WATTR ts ZONE Asia/Tokyo", "E_ZONE"),
        ("RANGE 5 rows SLIDE 1 rows WATTR row_num ZONE Asia/Tokyo", "E_ZONE"),
        ("SESSION 1 hour WATTR ts ZONE Asia/Tokyo", "E_ATTR_MIX"),
        (
            "RANGE 24 hours SLIDE 1 day WATTR ts ZONE Asia/Tokyo",
            "E_UNIT: RANGE 24 hours",
        ),
        (
            "RANGE 1 month SLIDE 1 week WATTR ts ZONE Asia/Tokyo",
            "E_UNIT: RANGE 1 month SL",
        ),
        ("RANGE 1.5 days SLIDE 1 day WATTR ts ZONE Asia/Tokyo", "E_VALUE: RANGE 1.5 days"),
        ("RANGE 1 day SLIDE 0 days WATTR ts ZONE Asia/Tokyo", "E_VALUE: SLIDE 0 days"),
        (f"{BERLIN} ORIGIN 24 hours", "E_ORIGIN: ORIGIN 24 hours: with ZONE"),
        (f"{BERLIN} ORIGIN 2024-01-01", "E_ORIGIN"),
        (f"{BERLIN} ALIGN start", "E_ORIGIN: ALIGN goes without ZONE"),
        (
            "RANGE 3000000 days SLIDE 1 day WATTR ts ZONE Asia/Tokyo",
            "E_VALUE.*every record",
        ),
        ("RANGE 1 month SLIDE 1 month WATTR ts", "ZONE Asia/Tokyo"),
    ],
)
def test_what_cannot_be_says_what_to_write(window: str, says: str) -> None:
    with pytest.raises(PipelineError, match=says):
        pipeline_of(window)


def test_a_mapping_spells_the_same() -> None:
    text = pipeline_of(f"{BERLIN} ORIGIN 6 hours")
    mapped = pipeline_of(
        "{range: 1 day, slide: 1 day, wattr: ts, zone: Europe/Berlin, origin: 6 hours}"
    )
    assert mapped.fingerprint == text.fingerprint != pipeline_of(BERLIN).fingerprint


def test_queries_share_slices_if_they_go_by_the_same_days() -> None:
    own = "RANGE {} SLIDE {} WATTR ts ZONE {}{}"
    pipeline = pipeline_of(
        own.format("1 day", "1 day", "Asia/Tokyo", ""),
        own.format("7 days", "1 day", "Asia/Tokyo", ""),
        own.format("1 week", "1 week", "Asia/Tokyo", ""),
        own.format("1 day", "1 day", "Asia/Tokyo", " ORIGIN 6 hours"),
        own.format("1 day", "1 day", "Asia/Seoul", ""),
        own.format("1 month", "1 month", "Asia/Tokyo", ""),
        own.format("1 year", "1 quarter", "Asia/Tokyo", ""),
        "RANGE 1 day SLIDE 1 day WATTR ts",
    )
    shared = sorted(sorted(family.names) for family in families_of(pipeline).values())
    assert shared == [["q0", "q1", "q2"], ["q5", "q6"]]
    times = [f"2024-0{month}-{day:02}T20:00:00Z" for month in (3, 4) for day in range(1, 29, 3)]
    alone = rows_of(pipeline, *times)
    with tuned(share_from_queries=2):
        assert sorted(rows_of(pipeline, *times), key=repr) == sorted(alone, key=repr)
    assert len({row.query for row in alone}) == 8


def test_a_query_joins_and_leaves_at_an_instant() -> None:
    joins = ', from: "2024-03-30T12:00Z", until: "2024-04-02T00:00Z"'
    times = [f"2024-{day}T12:30:00Z" for day in ("03-30", "03-31", "04-01", "04-02")]
    rows = rows_of(pipeline_of(BERLIN, more=joins), *times)
    assert [row.window_id for row in rows] == [19813, 19814]
    begun = rows_of(pipeline_of(BERLIN, more=f"{joins}, warmup: emit"), *times)
    assert [(row.window_id, row.window_start_us) for row in begun] == [
        (19812, utc("2024-03-30T12:00")),
        *((row.window_id, row.window_start_us) for row in rows),
    ]


def test_the_next_edges_are_explained_in_local_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explained, "time_ns", lambda: utc("2024-03-29T12:00") * 1_000)
    said = "\n".join(explain(plan_of(pipeline_of(BERLIN))))
    for part in (
        "19811 ends 2024-03-30T00:00+01:00, 19812 ends 2024-03-31T00:00+01:00",
        "19813 ends 2024-04-01T00:00+02:00",
        "the day from 2024-03-31T00:00+01:00 has 23 h",
    ):
        assert part in said


def test_tools_know_lengths_and_edges() -> None:
    (query,) = queries_of(pipeline_of("RANGE 2 months SLIDE 1 month WATTR ts ZONE Asia/Tokyo"))
    assert kind_of(query.window) == "sliding"
    steps = {zone: step_of(pipeline_of(f"{BERLIN[:-13]}{zone}")) for zone in ZONES[:1] + ZONES[6:8]}
    assert steps == {
        "Europe/Berlin": 60 * MINUTE,
        "Australia/Lord_Howe": 30 * MINUTE,
        "Asia/Tehran": 30 * MINUTE,
    }
