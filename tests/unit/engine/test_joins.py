"""Joins on the local engine: the definition's bytes, however the logs come."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.simulator.draw.wish import JOIN as JOIN_OF_RECORDS
from chaos.simulator.draw.wish import POLICY_JOIN
from tests.strategies import Event, entry, join_cases
from tests.unit.engine.test_classes import check
from tests.unit.engine.test_engine import agreed
from windowing.model import parse_pipeline
from windowing.model.errors import PipelineError
from windowing.model.rows import row_lines

_FEW = max(settings.default.max_examples // 3, 6) if settings.default else 6


@pytest.mark.parametrize("kind", [JOIN_OF_RECORDS, POLICY_JOIN])
@settings(max_examples=_FEW)
@given(data=st.data())
def test_engine_equals_definition(kind: str, data: st.DataObject) -> None:
    check(data.draw(join_cases(kind=kind)), data=data)


JOIN = """
name: j
join:
  left:
    source: {{topic: l, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
      fields: {{k: "string?", v: int}}, disorder: {{slack: 0 s}}}}
    window: 5 us
  right:
    source: {{topic: r, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
      fields: {{k: "string?", w: int}}, disorder: {{slack: 0 s}}}}
    window: 2 us
  kind: {kind}
  equal: {equal}
  where: {where}
  select: {{v: left.v, w: right.w}}
late: {{policy: update, every: 10 us}}
retention: 100 us
shards: 2
"""


def joined(
    left: list[tuple[int, str | None]],
    right: list[tuple[int, str | None]],
    kind: str = "inner",
    equal: str = "[k]",
    where: str = "[]",
) -> list[tuple[object, ...]]:
    """What of both sides a join shows, and what it takes back; of every record `v`, `w` is `ts`."""
    spec = parse_pipeline(JOIN.format(kind=kind, equal=equal, where=where))
    events: list[Event] = []
    for topic, field, records in (("l", "v", left), ("r", "w", right)):
        values: list[Event] = [{"value": {"ts": ts, "k": k, field: ts}} for ts, k in records]
        for offset, content in enumerate([*values, {"control": {"end": True}}]):
            events.append({"source": topic, "partition": 0, "offset": offset, **content})
    rows = agreed(spec, list(map(entry, events)))
    found = [json.loads(line) for line in row_lines(rows)]
    marks = [[row["op"]] if "op" in row else [] for row in found]
    return [(*row["values"].values(), *mark) for row, mark in zip(found, marks, strict=True)]


@pytest.mark.parametrize("equal", ["[k]", "[]"])
def test_each_side_looks_back_as_far_as_the_others_window(equal: str) -> None:
    left = [(10, "a"), (20, "a")]
    right = [(8, "a"), (15, "a"), (16, "a"), (18, "a"), (26, "a")]
    # Right records lie back 2 at the most, left ones 5; both bounds belong to the window.
    assert joined(left, right, equal=equal) == [(10, 8), (10, 15), (20, 18)]
    # One step beyond on either side is none; exactly the reach is one, whoever comes first.
    edges = [(100, "a")], [(97, "a"), (98, "a"), (105, "a"), (106, "a")]
    assert joined(*edges, equal=equal) == [(100, 98), (100, 105)]


def test_null_equals_nothing() -> None:
    assert joined([(1, None)], [(1, None)]) == []
    assert joined([(1, None)], [(1, None)], "full") == [(None, 1), (1, None)]


def test_conditions_need_no_equality() -> None:
    assert joined([(3, "a"), (4, "b")], [(4, "c")], equal="[]", where="[left.v < right.w]") == [
        (3, 4)
    ]


def test_a_late_partner_takes_back_that_a_record_was_alone() -> None:
    """The right lane is at 40 when its record of 12 comes; alone was said at 16."""
    found = joined([(10, "a"), (60, "z")], [(40, "b"), (12, "a")], "left")
    assert found == [(10, None), (10, None, "retract"), (10, 12), (60, None)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("topic: r", "topic: l", "both sides read topic 'l'"),
        ("right.w}", "right.z}", "'z' is not under fields"),
        ("equal: [k]", "equal: {k: w}", "take fields of one type"),
        ("where: []", "where: [left.k < right.w]", "is compared with int"),
        ("where: []", "where: [left.k]", "is not a condition"),
        ("name: j", "name: j\nearly: {records: 2}", "early does not go with join: a pair is whole"),
        ("retention: 100 us", "", "needs a retention"),
    ],
)
def test_mistakes_are_reported(old: str, new: str, message: str) -> None:
    text = JOIN.format(kind="inner", equal="[k]", where="[]")
    assert old in text
    with pytest.raises(PipelineError, match=message):
        parse_pipeline(text.replace(old, new))
