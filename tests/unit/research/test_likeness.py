"""A proposal makes our windows those of the engine: by the definition of our own windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from windowing.model.file.pipeline import parse_pipeline
from windowing.model.windows.parsing import parse_window
from windowing.model.windows.sliding import Sliding
from windowing.research.engines.likeness import Proposal, propose
from windowing.research.engines.parameters import Domain
from windowing.research.engines.profiles import KNOWN, SIMULATED, profile_of

PIPELINE = """
name: likeness
source:
  topic: events
  partitions: 1
  format: json
  event_time: {{field: ts, unit: {unit}}}
  fields: {{k: string, n: int}}
  disorder: {{slack: 1 second}}
late: {late}
retention: {retention}
queries:
  asked: {{window: "{window}", group_by: [k], aggregates: {{n: count}}}}
"""


def proposal(
    engine: str,
    window: str,
    *,
    unit: str = "ms",
    late: str = "{policy: drop}",
    first_us: int | None = None,
) -> Proposal:
    retention = "1 second" if "update" in late else "null"
    text = PIPELINE.format(unit=unit, late=late, retention=retention, window=window)
    (found,) = propose(profile_of(engine), parse_pipeline(text), first_us)
    return found


def our_starts(window: Sliding, count: int) -> set[int]:
    """Starts of windows, modulo nothing: those after the origin."""
    phase = window.origin if window.align == "start" else window.origin - window.range_
    return {phase % window.slide + n * window.slide for n in range(count)}


@pytest.mark.parametrize(
    "engine", [one.name for one in (*SIMULATED, *KNOWN) if one.time and one.name != "STREAM"]
)
@pytest.mark.parametrize(("size", "slide"), [(10, 10), (10, 5), (10, 4), (3, 7)])
def test_proposed_windows_lie_where_the_engines_do(engine: str, size: int, slide: int) -> None:
    written = f"RANGE {size} ms SLIDE {slide} ms WATTR ts"
    found = proposal(engine, written)
    window = parse_window(found.window or written, {"ts": "time"}, ())
    assert isinstance(window, Sliding)
    # `(start, …]` of the model, in ms, begins one unit later.
    start = profile_of(engine).windows(Domain.time, size, slide, 100).start + 1
    theirs = {start % slide * 1000 + n * slide * 1000 for n in range(5)}
    assert our_starts(window, 5) == theirs
    assert (window.range_, window.slide) == (size * 1000, slide * 1000)


def test_windows_that_are_equal_are_left_alone() -> None:
    assert proposal("flink", "RANGE 10 ms SLIDE 4 ms WATTR ts").window is None
    assert proposal("flink-real", "RANGE 10 ms SLIDE 4 ms WATTR ts ALIGN start").window is None


def test_a_closed_end_is_one_unit_of_the_event_time() -> None:
    in_ms = proposal("storm", "RANGE 10 ms SLIDE 5 ms WATTR ts")
    assert in_ms.window == "RANGE 10 ms SLIDE 5 ms WATTR ts ORIGIN 1 ms ALIGN start"
    in_us = proposal("storm", "RANGE 10 ms SLIDE 5 ms WATTR ts", unit="us")
    assert in_us.window == "RANGE 10 ms SLIDE 5 ms WATTR ts ORIGIN 1 us ALIGN start"


def test_a_window_that_is_no_whole_number_of_units_cannot_be_like_it() -> None:
    found = proposal("storm", "RANGE 1500 us SLIDE 500 us WATTR ts")
    assert found.window is None
    assert found.differences == ("range and slide must be whole ms",)


def test_windows_that_begin_at_the_first_record_need_its_time() -> None:
    written = "RANGE 10 ms SLIDE 5 ms WATTR ts"
    assert "give its event time with --first" in proposal("stream", written).differences[0]
    # f = 7 ms: windows end at 7, 12, …, both included, so that they start at 3 (mod 5).
    given = proposal("stream", written, first_us=7_000)
    assert given.window == "RANGE 10 ms SLIDE 5 ms WATTR ts ORIGIN 3 ms ALIGN start"


def test_late_records_are_dropped_where_the_engine_drops_them() -> None:
    written = "RANGE 10 ms SLIDE 10 ms WATTR ts"
    update = "{policy: update, every: 1 second}"
    assert proposal("flink", written, late=update).late == "{policy: drop}"
    assert proposal("flink", written, late="{policy: dead_letter}").late is None
    assert proposal("flink", written, late="{policy: drop, mode: consistent}").late is not None
    assert proposal("storm", written, late=update).late is None


def test_sessions_that_touch_are_one_session_with_a_longer_gap() -> None:
    assert proposal("flink", "SESSION 10 ms WATTR ts").window == "SESSION 11 ms WATTR ts"
    assert proposal("beam-real", "SESSION 10 ms WATTR ts").window is None
    assert proposal("storm", "SESSION 10 ms WATTR ts").differences


def test_rows_are_aligned_as_the_engines_tuple_windows() -> None:
    written = "RANGE 5 rows SLIDE 2 rows WATTR row_num"
    assert proposal("flink", written).window is None
    assert proposal("streambase", written).window == f"{written} ALIGN start"
    assert proposal("azure", written).differences == (
        "Azure Stream Analytics has no tuple windows: ask for its other windows",
    )


def test_what_we_never_send_is_said() -> None:
    found = proposal("spark16", "RANGE 10 ms SLIDE 5 ms WATTR ts")
    assert found.differences == ("it reports empty windows, of which we send no rows",)
    assert list(found.lines())[-1] == f"  # differs: {found.differences[0]}"


def test_windows_that_no_engine_here_has_are_left_alone() -> None:
    found = proposal("flink", "RANGE LANDMARK SLIDE 5 ms WATTR ts")
    assert found.window is None
    assert found.differences[0].startswith("nothing is known of landmark windows")


def test_pipelines_of_ours_have_proposals() -> None:
    text = Path("pipelines/flight_delays.yml").read_text(encoding="utf-8")
    found = propose(profile_of("flink-real"), parse_pipeline(text))
    assert [one.query for one in found] == ["hourly", "daily"]
