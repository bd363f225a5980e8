"""What `explain` says: for every class of windows, before any record is read."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from jobs.tools.window_picture import PictureError, draw_windows
from windowing.engine.plan import Plan, plan_flow, plan_of
from windowing.explain.calendar import next_edges
from windowing.explain.pipeline import explain, explain_query
from windowing.explain.words import growing, partial_bytes
from windowing.model import Pipeline, Query, load_pipeline, parse_pipeline
from windowing.model.windows.parsing import CLASSES, parse_window
from windowing.model.windows.window import Window
from windowing.semantics.windows import sliding

A_JOIN = Path(__file__).parents[3] / "pipelines" / "departures_weather.yml"
ATTRIBUTES = {"ts": "time", "pos": "number", "k": "text"}
WINDOWS = {
    "RANGE 10 s SLIDE 10 s WATTR ts": ("CF", "tumbling over ts, range 10 s, slide 10 s"),
    "RANGE 25 s SLIDE 10 s WATTR ts": ("CF", "sliding over ts"),
    "RANGE 5 SLIDE 2 WATTR pos": ("CF", "sliding over pos, range 5, slide 2"),
    "RANGE LANDMARK SLIDE 10 s WATTR ts": ("CF", "landmark over ts, slide 10 s"),
    "RANGE CUMULATE 30 s SLIDE 10 s WATTR ts": ("CF", "cumulating over ts, range 30 s, slide 10 s"),
    "RANGE 4 rows SLIDE 1 row WATTR row_num PATTR k": ("FCF", "range 4 rows, slide 1 row"),
    "RANGE 4 rows SLIDE 2 rows WATTR row_num ORDER event_time": ("FCF", "sliding over row_num"),
    "RANGE 10 s RATTR ts SATTR row_num SLIDE 1 row": ("FCB", "slide by 1 row, range 10 s over ts"),
    "RANGE 10 s RATTR ts SATTR row_num SLIDE 3 rows": ("FCB", "slide by 3 rows, range 10 s"),
    "RANGE 10 s RATTR ts SATTR rank(ts) SLIDE 2 rows": ("FCU", "slide by 2 rows in the order of"),
    "RANGE 7 days SLIDE 1 day WATTR ts ZONE Asia/Tokyo ORIGIN 6 hours": (
        "CF",
        "sliding over ts by the calendar of Asia/Tokyo, range 7 days, slide 1 day from 06:00",
    ),
    "SESSION 30 min WATTR ts": ("FCU", "sessions over ts, parted by 30 min"),
    "SESSION 3 rows WATTR row_num": ("FCU", "sessions over row_num, parted by 3 rows of others"),
}


def _pipeline(aggregates: str = "{n: count, top: max(x)}", late: str = "") -> Pipeline:
    return parse_pipeline(
        f"""
name: p
source: {{topic: t, partitions: 2, format: json, event_time: {{field: ts, unit: s}},
  fields: {{k: string, x: float, pos: int}}, disorder: {{slack: 20 s}},
  disorder_of: {{pos: ordered}}}}
{late}
queries:
  q: {{window: RANGE 25 s SLIDE 10 s WATTR ts, group_by: [k], aggregates: {aggregates}}}
"""
    )


def _query(text: str, pipeline: Pipeline) -> Query:
    window = parse_window(text, ATTRIBUTES)  # type: ignore[arg-type]  # literals
    return pipeline.flows[0].model_copy(update={"window": window})


def _window(text: str) -> Window:
    return parse_window(text, ATTRIBUTES)  # type: ignore[arg-type]  # literals


def _estimate(plan: Plan) -> int | None:
    (flow,) = plan.flows
    return flow.evaluation.estimate(flow.query, plan.pipeline.source)


@pytest.mark.parametrize(("text", "said"), WINDOWS.items())
def test_every_class_is_explained(text: str, said: tuple[str, str]) -> None:
    context, title = said
    pipeline = _pipeline()
    lines = list(explain_query(plan_flow(_query(text, pipeline), pipeline), plan_of(pipeline)))
    assert title in lines[0]
    assert lines[1].startswith(f"  context class: {context}: ")
    assert [line for line in lines if line.startswith("  memory: about 64 bytes a partial state")]


def test_no_class_is_forgotten() -> None:
    assert {type(_window(text)) for text in WINDOWS} == set(CLASSES)


def test_a_join_over_policy_windows_is_explained() -> None:
    text = A_JOIN.read_text(encoding="utf-8")
    assert "join:" in text
    sides = yaml.safe_load(text)
    sides.pop("retention", None)
    sides["late"] = {"policy": "drop"}
    sides["join"] |= {"operator": "join", "kind": "left"}
    for side, by in (("left", "origin"), ("right", "origin")):
        sides["join"][side]["window"] = f"SLIDING count(7) PARTITIONED BY {by}"
    said = "\n".join(explain(plan_of(parse_pipeline(yaml.safe_dump(sides)))))
    for part in (
        "  left window: the last 7 tuples, reported at every tuple, for each origin",
        "it probes the opposite window's partition of its own key",
        "  unit: each left.origin = right.origin by itself, on its shard",
        "  late: a record behind the progress of its lane takes no part: it is counted and dropped",
    ):
        assert part in said
    sides["join"]["left"]["window"] += " EVICT tuple_count(100)"
    said = "\n".join(explain(plan_of(parse_pipeline(yaml.safe_dump(sides)))))
    assert "at most 100 tuples in all of them" in said
    assert "on one shard, because partition eviction looks at all partitions" in said


def test_which_plan_runs_and_why_is_explained() -> None:
    pipelines = A_JOIN.parent
    said = {
        name: [
            line for line in explain(plan_of(load_pipeline(pipelines / name))) if "plan:" in line
        ]
        for name in ("flight_delays.yml", "route_sessions.yml", A_JOIN.name)
    }
    assert said == {
        "flight_delays.yml": [
            "  plan: fused: lanes are scanned where they are decoded, and settled in the shards"
        ],
        "route_sessions.yml": [
            "  plan: lanes have a stage of their own: query sessions: session windows need each "
            "record's place"
        ],
        A_JOIN.name: [
            "  plan: lanes have a stage of their own: records of operators and joins are kept one "
            "by one, in the order of their lanes"
        ],
    }


def test_a_join_is_explained() -> None:
    text = "\n".join(explain(plan_of(load_pipeline(A_JOIN))))
    assert "topic departures and weather, 6 lanes" in text
    assert "a pair: left.origin = right.origin and left.time_hour = right.time_hour" in text
    assert "a record is kept for 27 h after its time" in text


def test_a_window_join_says_when_a_row_is_due_and_how_long_a_record_is_kept() -> None:
    sides = yaml.safe_load(A_JOIN.read_text(encoding="utf-8"))
    for side in ("left", "right"):
        sides["join"][side].pop("window")
    sides["join"] |= {"kind": "window", "window": "RANGE 1 day SLIDE 6 hours", "outer": "left"}
    said = "\n".join(explain(plan_of(parse_pipeline(yaml.safe_dump(sides)))))
    for part in (
        "windows: sliding over sched_us, range 1 d, slide 6 h",
        "a pair: in the same window, left.origin = right.origin",
        "due: when the slowest partition of both topics has passed the window's end",
        "until the slowest partition has passed the end of its last window, and 25 h more for late",
        "a late partner takes back that a record was alone",
    ):
        assert part in said
    sides["late"] = {"policy": "drop"}
    said = "\n".join(explain(plan_of(parse_pipeline(yaml.safe_dump(sides)))))
    assert "passed the end of its last window\n" in said


def test_a_join_by_event_time_shows_no_generator_but_those_of_its_sides() -> None:
    side = (
        "{{source: {{topic: {0}, partitions: 1, format: json, event_time: {{field: ts, unit: s}}, "
        "fields: {{ts: int}}, disorder: {{slack: 9 s}}}}}}"
    )
    left, right = side.format("l"), side.format("r")
    text = f"name: p\njoin: {{left: {left}, right: {right}, equal: [ts], select: {{t: left.ts}}}}"
    said = [line for line in explain(plan_of(parse_pipeline(text))) if "progress of" in line]
    assert [line.partition(":")[0] for line in said] == [
        "  progress of a lane of l",
        "  progress of a lane of r",
    ]


@pytest.mark.parametrize(
    ("window", "beside"),
    [("0 s", "the other side's in reach"), (None, "all that are kept, in one shard")],
)
def test_what_a_join_without_equal_fields_costs(window: str | None, beside: str) -> None:
    document = yaml.safe_load(A_JOIN.read_text())
    del document["join"]["equal"], document["quality"], document["retention"]
    document["late"] = {"policy": "drop"}
    for side in ("left", "right"):
        document["join"][side].pop("window")
        if window is not None:
            document["join"][side]["window"] = window
    text = "\n".join(explain(plan_of(parse_pipeline(yaml.safe_dump(document)))))
    assert f"cost of a batch: its new records, each beside {beside}" in text


@pytest.mark.parametrize("text", [text for text in WINDOWS if "TTR ts SLIDE" not in text][:3])
def test_the_first_windows_are_the_definitions(text: str) -> None:
    window = _window(text)
    shown = [(extent.start, extent.end) for extent in window.first_extents(9)]
    assert shown == [sliding.extent(window, wid) for wid in range(9)]


def test_windows_at_records_end_at_them() -> None:
    window = _window("RANGE 8 RATTR pos SATTR row_num SLIDE 3 rows")
    # A record every 2, so every third of them lies 6 on.
    assert [(e.start, e.end) for e in window.first_extents(2)] == [(-2, 6), (4, 12)]


def test_the_bound_counts_what_can_be_open_at_once() -> None:
    """Range 25 s and slack 20 s are 4.5 slides: at most 6 are touched, each of two slices."""
    plan = plan_of(_pipeline())
    assert _estimate(plan) == 12
    updated = _pipeline(late="late: {policy: update, every: 10 s}\nretention: 60 s")
    assert _estimate(plan_of(updated)) == 26
    lines = list(explain(plan))
    assert "  memory: about 64 bytes a partial state: about 1.5 kB per key" in "\n".join(lines)


def test_what_grows_is_named() -> None:
    pipeline = _pipeline("{n: count, all: collect(x), best: 'top_k(x, 5)', mid: median(x)}")
    [query] = pipeline.flows
    assert [a.name for a in growing(query, pipeline.source)] == ["all", "mid"]
    assert partial_bytes(query, pipeline.source) == 8 * (6 + 1 + 10)
    text = "\n".join(explain(plan_of(pipeline)))
    assert "no bound: all, mid grow with the records" in text
    assert "    all: every value, with its place" in text


@pytest.mark.parametrize("late", ["retention: {windows: 3}", "late: {policy: drop}"])
def test_a_retention_without_late_records_is_said_to_change_nothing(late: str) -> None:
    said = "retention: changes no row" in "\n".join(explain(plan_of(_pipeline(late=late))))
    assert said == ("windows" in late)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture_is_drawn(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"windows.{ending}"
    draw_windows(_pipeline(), path)
    head = {"png": b"\x89PNG", "svg": b"<?xml"}[ending]
    assert path.read_bytes().startswith(head)


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PictureError, match=r"\.png or \.svg"):
        draw_windows(_pipeline(), tmp_path / "windows.bmp")


@pytest.mark.parametrize(
    ("control", "says"),
    [
        ("none", "none is believed"),
        ("bounds", "whoever may write to the topic moves progress and ends lanes; nobody changes"),
        ("{believe: all, queries: 7, key: A_KEY}", "whoever signs with A_KEY moves progress"),
        ("{believe: all, queries: 7}", "adds at most 7 in a lane, with classes that the file"),
    ],
)
def test_who_may_do_what_by_control_records(control: str, says: str) -> None:
    source = (
        f"{{topic: l, partitions: 1, format: json, event_time: {{field: ts, unit: s}}, "
        f"fields: {{}}, disorder: ordered, control: {control}}}"
    )
    query = "{window: RANGE 1 s SLIDE 1 s WATTR ts, aggregates: {n: count}}"
    text = f"name: p\nsource: {source}\nqueries: {{w: {query}}}"
    said = "\n".join(explain(plan_of(parse_pipeline(text))))
    (line,) = [line for line in said.splitlines() if "control records of l: " in line]
    assert says in line


def test_windows_of_local_time_say_where_they_end_next() -> None:
    """At 00:30Z on the day of 25 hours, it is 02:30 in Berlin, for the first time."""
    pipeline = _pipeline()
    now_us = 1_792_888_200_000_000
    said = {
        text: [*next_edges([_query(f"{text} WATTR ts ZONE Europe/Berlin", pipeline)], now_us)]
        for text in ("RANGE CUMULATE 1 day SLIDE 12 hours", "RANGE 1 day SLIDE 1 day")
    }
    assert [*said.values()] == [
        [
            "q: the period from 2026-10-25T00:00+02:00 ends 2026-10-26T00:00+01:00: it has 3 "
            "windows, and 4 numbers",
            "  next windows, by Europe/Berlin: 83004 ends 2026-10-25T11:00+01:00, 83005 ends "
            "2026-10-25T23:00+01:00, 83006 ends 2026-10-26T00:00+01:00",
        ],
        [
            "q: next windows, by Europe/Berlin: 20751 ends 2026-10-26T00:00+01:00, 20752 ends "
            "2026-10-27T00:00+01:00, 20753 ends 2026-10-28T00:00+01:00, 20754 ends "
            "2026-10-29T00:00+01:00",
            "  from 2027-03-28T00:00+01:00 to 2027-03-29T00:00+02:00 it is 23 h, not 1 d",
        ],
    ]
    assert not [*next_edges([_query("RANGE CUMULATE 9 s SLIDE 3 s WATTR ts", pipeline)], now_us)]
