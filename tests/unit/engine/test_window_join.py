"""Window joins on the local engine: the definition's bytes, however the logs come."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.simulator.draw.wish import WINDOW_JOIN
from tests.strategies import Event, entry, join_cases
from tests.unit.engine.test_classes import check
from tests.unit.engine.test_engine import agreed
from windowing.model import parse_pipeline
from windowing.model.errors import PipelineError
from windowing.model.rows import row_lines

_FEW = max(settings.default.max_examples // 3, 6) if settings.default else 6


@settings(max_examples=_FEW)
@given(data=st.data())
def test_engine_equals_definition(data: st.DataObject) -> None:
    check(data.draw(join_cases(kind=WINDOW_JOIN)), data=data)


JOIN = """
name: j
join:
  left:
    source: {{topic: l, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
      fields: {{k: "string?", v: int}}, disorder: {{slack: 0 s}}}}
  right:
    source: {{topic: r, partitions: 1, format: json, event_time: {{field: at, unit: us}},
      fields: {{k: "string?", w: int}}, disorder: {{slack: 0 s}}}}
  kind: window
  window: {window}
  {outer}
  equal: {equal}
  where: {where}
  select: {{v: left.v, w: right.w, lag: right.at - left.ts}}
late: {late}
retention: 100 us
shards: 2
"""
UPDATE = "{policy: update, every: 10 us}"
TUMBLING = "RANGE 10 us SLIDE 10 us"


def joined(
    left: list[tuple[int, str | None]],
    right: list[tuple[int, str | None]],
    *,
    end: bool = True,
    **said: str,
) -> list[dict[str, object]]:
    """The rows of a join of two lanes, of whose records `v` and `w` are the times."""
    given = {"window": TUMBLING, "outer": "", "equal": "[k]", "where": "[]", "late": UPDATE}
    pipeline = parse_pipeline(JOIN.format(**given | said))
    events: list[Event] = []
    for topic, time, field, records in (("l", "ts", "v", left), ("r", "at", "w", right)):
        values: list[Event] = [{"value": {time: ts, "k": k, field: ts}} for ts, k in records]
        last: list[Event] = [{"control": {"end": True}}] if end else []
        for offset, content in enumerate([*values, *last]):
            events.append({"source": topic, "partition": 0, "offset": offset, **content})
    return [json.loads(line) for line in row_lines(agreed(pipeline, list(map(entry, events))))]


def shown(rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
    """Start of the window, both values, revision, and what is taken back."""
    return [
        (
            row["window_start"],
            row["values"]["v"],  # type: ignore[index]
            row["values"]["w"],  # type: ignore[index]
            row["revision"],
            *([row["op"]] if "op" in row else []),
        )
        for row in rows
    ]


def test_a_pair_is_in_one_window_however_near_it_is() -> None:
    rows = joined([(8, "a"), (12, "a")], [(9, "a"), (10, "a"), (19, "b")])
    assert shown(rows) == [(0, 8, 9, 0), (10, 12, 10, 0)]
    assert [row["window_id"] for row in rows] == [0, 1]
    assert [row["window_end"] for row in rows] == [10, 20]
    assert [row["key"] for row in rows] == [["a", "l/0", 0, "r/0", 0], ["a", "l/0", 1, "r/0", 1]]
    assert [row["values"]["lag"] for row in rows] == [1, -2]  # type: ignore[index]


def test_a_pair_has_a_row_in_each_window_that_it_shares() -> None:
    rows = joined([(8, "a")], [(12, "a"), (18, "a")], window="RANGE 20 us SLIDE 10 us")
    # Of 8: [-10, 10), clipped, and [0, 20); of 12 and 18: [0, 20) and [10, 30).
    assert shown(rows) == [(0, 8, 12, 0), (0, 8, 18, 0)]


def test_null_equals_nothing_and_is_alone_in_an_outer_join() -> None:
    assert joined([(1, None)], [(1, None)]) == []
    rows = joined([(1, None)], [(1, None)], outer="outer: full")
    assert shown(rows) == [(0, None, 1, 0), (0, 1, None, 0)]


def test_a_record_is_alone_in_the_windows_in_which_it_has_no_partner() -> None:
    rows = joined([(8, "a")], [(12, "a")], window="RANGE 20 us SLIDE 10 us", outer="outer: left")
    assert shown(rows) == [(0, 8, None, 0), (0, 8, 12, 0)]
    assert [row["window_end"] for row in rows] == [10, 20]
    # Whoever fails a condition is no partner.
    asked = {"outer": "outer: left", "where": "[left.v > right.w]"}
    assert shown(joined([(5, "a"), (7, "a")], [(6, "a")], **asked)) == [
        (0, 5, None, 0),
        (0, 7, 6, 0),
    ]


def test_nothing_is_said_of_a_window_before_both_sides_have_passed_it() -> None:
    left, right = [(5, "a"), (25, "a")], [(6, "a"), (9, "a")]
    assert joined(left, right, end=False, outer="outer: left") == []
    rows = joined(left, [*right, (10, "b")], end=False, outer="outer: left")
    assert shown(rows) == [(0, 5, 6, 0), (0, 5, 9, 0)]


def test_a_late_partner_takes_back_that_a_record_was_alone() -> None:
    """The right lane is at 40 when its record of 6 comes, whose epoch is 50."""
    late = {"outer": "outer: left"}
    rows = joined([(5, "a"), (60, "z")], [(40, "b"), (6, "a")], **late)
    assert shown(rows) == [
        (0, 5, None, 0),
        (0, 5, None, 0, "retract"),
        (0, 5, 6, 1),
        (60, 60, None, 0),
    ]
    # A late record without a partner is alone from its epoch on.
    assert shown(joined([(40, "z"), (5, "a")], [(40, "b")], **late)) == [
        (0, 5, None, 1),
        (40, 40, None, 0),
    ]


@pytest.mark.parametrize(("late", "pairs"), [(UPDATE, 1), ("{policy: drop}", 0)])
def test_a_record_is_late_once_its_lane_has_passed_the_window(late: str, pairs: int) -> None:
    """Not once it has passed the record: 5 comes after 9, and is on time for the window."""
    on_time = joined([(5, "a")], [(9, "b"), (5, "a")], late=late)
    assert shown(on_time) == [(0, 5, 5, 0)]
    assert len(joined([(5, "a")], [(10, "b"), (5, "a")], late=late)) == pairs
    # The retention is counted from the window's end.
    assert len(joined([(5, "a")], [(109, "b"), (5, "a")], late=late)) == pairs
    assert joined([(5, "a")], [(110, "b"), (5, "a")], late=late) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (f"window: {TUMBLING}", "", "needs the windows in which records meet"),
        (TUMBLING, "SESSION 5 us", "write RANGE and SLIDE"),
        (TUMBLING, "RANGE LANDMARK SLIDE 5 us", "write RANGE and SLIDE"),
        (TUMBLING, "RANGE 5 rows SLIDE 5 rows WATTR row_num", "write RANGE and SLIDE"),
        (TUMBLING, f"{TUMBLING} WATTR v", "WATTR v names no field; known: at, row_num, ts"),
        (TUMBLING, f"{TUMBLING} PATTR k", "PATTR k names no field"),
        ("kind: window", "kind: left", "window goes with kind: window"),
        ("kind: window\n  window: RANGE 10 us SLIDE 10 us", "outer: left", "as kind: left"),
        ("kind: window", "kind: window\n  operator: join", "take operator out"),
        (
            "disorder: {slack: 0 s}}\n  right",
            "disorder: {slack: 0 s}}\n    window: 5 us\n  right",
            "the join has one window for both sides",
        ),
        ("kind: window", "kind: window\n  outer: inner", "Input should be 'left'|input should be"),
        ("right.at - left.ts", "right.at - left.k", "takes numbers, not timestamp"),
        ("right.at - left.ts", "right.at - ts", "ts names no field of one of the records"),
        ("right.at - left.ts", "$offset + left.v", "without metadata"),
        ("right.at - left.ts", "right.at - left.no", "'no' is not under fields"),
        ("retention: 100 us", "", "needs a retention"),
        ("equal: [k]", "equal: {ts: at}", "'ts' is not under fields"),
    ],
)
def test_mistakes_are_reported(old: str, new: str, message: str) -> None:
    said = {"window": TUMBLING, "outer": "", "equal": "[k]", "where": "[]", "late": UPDATE}
    text = JOIN.format(**said)
    assert old in text
    with pytest.raises(PipelineError, match=message):
        parse_pipeline(text.replace(old, new))


@pytest.mark.parametrize("wattr", ["", " WATTR ts", " WATTR at", " WATTR event_time"])
def test_windows_lie_over_the_event_time_of_either_side_however_they_name_it(wattr: str) -> None:
    assert shown(joined([(8, "a")], [(9, "a")], window=TUMBLING + wattr)) == [(0, 8, 9, 0)]
    said = {"outer": "", "equal": "[k]", "where": "[]", "late": UPDATE}
    clause = wattr.replace(" WATTR ", ", wattr: ")
    written = f"{{range: 10 us, slide: 10 us{clause}}}"
    (plain, named) = (
        parse_pipeline(JOIN.format(window=window, **said)).fingerprint
        for window in (TUMBLING, written)
    )
    assert plain == named


def test_retention_may_count_windows() -> None:
    said = {"window": TUMBLING, "outer": "", "equal": "[k]", "where": "[]", "late": UPDATE}
    text = JOIN.format(**said).replace("retention: 100 us", "retention: {windows: 3}")
    assert parse_pipeline(text).flows[0].retention_us == 30
