"""Features of drawn cases: their pairs, and which pairs are possible."""

from __future__ import annotations

import re

import pytest

from chaos.simulator.case import Case, Event, Failure, PlannedBatch
from chaos.simulator.coverage import ILLEGAL, legal, spelled, summary
from chaos.simulator.features import pair_number, pairs_of
from windowing.model import PipelineError, parse_pipeline

PIPELINE = """
name: p
source:
  topic: s
  partitions: 1
  format: json
  event_time: {field: ts, unit: us}
  fields: {g: string, h: int, n: int}
  disorder: ordered
late: {policy: update, every: 5 us}
retention: 5 us
queries:
  q: {window: RANGE 4 us SLIDE 2 us WATTR ts, group_by: [g], aggregates: {n: count}}
"""
JOIN = """
name: j
join:
  left: {source: {topic: l, partitions: 1, format: json, event_time: {field: ts, unit: us},
    fields: {g: string}, disorder: ordered}}
  right: {source: {topic: r, partitions: 1, format: json, event_time: {field: ts, unit: us},
    fields: {g: string}, disorder: ordered}}
  equal: [g]
  select: {g: left.g}
"""
POLICY_JOIN = """
name: j
join:
  operator: join
  left:
    source: {topic: l, partitions: 1, format: json, event_time: {field: ts, unit: us},
      fields: {g: string}, disorder: ordered}
    window: SLIDING count(2)
  right:
    source: {topic: r, partitions: 1, format: json, event_time: {field: ts, unit: us},
      fields: {g: string}, disorder: ordered}
    window: SLIDING time(2 us) PARTITIONED BY g
  select: {g: left.g}
late: {policy: drop}
"""
OPERATORS = """
name: o
source:
  topic: s
  partitions: 1
  format: json
  event_time: {field: ts, unit: us}
  fields: {g: string, h: int, n: int}
  disorder: ordered
late: {policy: drop}
queries:
  q: {operator: aggregate, window: SLIDING count(4), aggregates: {n: count}}
"""
WINDOW = "RANGE 4 us SLIDE 2 us WATTR ts"
ROWS = "RANGE 4 rows SLIDE 2 rows WATTR row_num"
DROP = "late: {policy: drop}"
UPDATE = "late: {policy: update, every: 5 us}"

# What a rule of the list says of pipelines, as a change to one that is valid.
REFUSED = {
    "E_LATE_UPDATE": [(WINDOW, ROWS)],
    "windows of rows lie over no attribute": [(WINDOW, f"{ROWS} RATTR n"), (UPDATE, DROP)],
    "E_DISORDER": [
        (WINDOW, "RANGE 4 SLIDE 2 WATTR n"),
        ("disorder: ordered", "disorder: punctuation"),
        (UPDATE, DROP),
    ],
    "early rows are for windows that records to come do not move": [
        (WINDOW, f"{ROWS} ORDER event_time, early: {{records: 1}}"),
        (UPDATE, DROP),
    ],
    "idle_timeout is for windows": [
        (WINDOW, ROWS),
        (UPDATE, DROP),
        ("disorder: ordered", "disorder: ordered\n  idle_timeout: 1 s"),
    ],
    "E_ORIGIN, E_ATTR_MIX: ALIGN": [(WINDOW, "SESSION 4 us WATTR ts ALIGN start")],
    "E_ORIGIN, E_ATTR_MIX: ORIGIN": [(WINDOW, f"{ROWS} ORIGIN 1 us"), (UPDATE, DROP)],
    "E_MISSING": [(WINDOW, "{range: 4 us, slide: 2 us, wattr: ts, gaps: {a: 1 us}}")],
    "E_ATTR_MIX: SESSION": [
        (WINDOW, "{session: 4 us, wattr: ts, align: start, gaps: {a: 1 us}}"),
    ],
    "E_ATTR_TYPE": [
        (WINDOW, "{session: 4 us, wattr: ts, gaps: {a: 1 us}}"),
        ("group_by: [g]", "group_by: [g, h]"),
    ],
    "retention in windows needs a SLIDE in time": [
        (WINDOW, "SESSION 4 us WATTR ts"),
        ("retention: 5 us", "retention: {windows: 2}"),
    ],
    "retention in windows needs a SLIDE": [
        (WINDOW, "{session: 4 us, wattr: ts, gaps: {a: 1 us}}"),
        ("retention: 5 us", "retention: {windows: 2}"),
    ],
    "E_ZONE": [(WINDOW, "RANGE 1 day SLIDE 1 day WATTR n ZONE Asia/Tokyo"), (UPDATE, DROP)],
    "empty is for windows": [(WINDOW, "SESSION 4 us WATTR ts, empty: {after: 1}")],
    "only sessions have gaps, and none is empty": [
        (WINDOW, "{session: 4 us, wattr: ts, gaps: {a: 1 us}}, empty: {after: 1}")
    ],
    "a row that shows only what is new": [
        (WINDOW, f"{WINDOW}, having: n > 1, accumulation: discarding")
    ],
    "update needs a retention": [("retention: 5 us\n", "")],
}
REFUSED_JOINS = {
    "a join has no early rows": [("disorder: ordered", "disorder: ordered, idle_timeout: 1 s")],
    "a join needs progress of its lanes": [("disorder: ordered", "disorder: {ordered_per: g}")],
    "a join has no windows to count": [("name: j", "name: j\nretention: {windows: 2}")],
    "a join has no windows and no aggregates": [("name: j", "name: j\naccumulation: discarding")],
    "a join stands instead of queries": [("name: j", f"name: j\n{PIPELINE[8:]}")],
    "its partner is the newest": [
        ("equal: [g]", "equal: [g]\n  kind: asof\n  within: 1 s\n  where: [left.g = 'a']")
    ],
}
REFUSED_JOINS["its windows are those of the join"] = [
    ("select: {g: left.g}", "select: {g: left.g}\n  kind: window\n  window: RANGE 4 us SLIDE 4 us"),
    ("disorder: ordered}}\n  right", "disorder: ordered}, window: 5 us}\n  right"),
]
REFUSED_POLICY_JOINS = {
    "a join over policy windows takes no late records": [
        ("policy: drop", "policy: update, every: 5 us")
    ],
    "windows of a join say themselves": [("name: j", "name: j\nretention: 5 us")],
    "its windows have policies": [("SLIDING count(2)", "5 us")],
}
_OPERATOR = "operator: aggregate, window: SLIDING count(4)"
REFUSED_OPERATORS = {
    "operators take no late records": [("policy: drop", "policy: update, every: 5 us")],
    "operators have no retention": [("name: o", "name: o\nretention: {time: 5 us, entries: 9}")],
    "operators send no provisional rows": [("name: o", "name: o\nearly: {records: 1}")],
    "operators send a row once": [("name: o", "name: o\naccumulation: discarding")],
    "operators send all reports": [(_OPERATOR, f"{_OPERATOR}, having: n > 1")],
    "operators need progress of lanes": [("disorder: ordered", "disorder: {ordered_per: g}")],
    "operators go by event time": [(_OPERATOR, f"{_OPERATOR} WATTR n")],
    "operators have windows by policies": [(_OPERATOR, f"operator: aggregate, window: {WINDOW}")],
    "only operators have policies": [(_OPERATOR, "window: SLIDING count(4)")],
    "aggregate and a user's operator are last": [
        (_OPERATOR, "operator: python:a:B, window: SLIDING count(4), outputs: {n: int}")
    ],
    "AGGREGATE_SLIDING_AND_EVICTED": [
        (_OPERATOR, f"{_OPERATOR} PARTITIONED BY g, evicted_partitions: true")
    ],
}
# True by how features are read off a pipeline, which has one of these, or none.
BY_DEFINITION = {
    "only joins have sides",
    "one side or both",
    "a shard has one of them",
    "a source believes one of them",
    "where nothing is believed, everything is not allowed",
    "where no change is believed, each is not allowed",
    "one length",
    "without update a query has no retention",
}


def changed(text: str, changes: list[tuple[str, str]]) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def test_what_the_changes_are_made_to_is_valid() -> None:
    assert parse_pipeline(PIPELINE)
    assert parse_pipeline(JOIN)
    assert parse_pipeline(POLICY_JOIN)
    assert parse_pipeline(OPERATORS)


@pytest.mark.parametrize(
    "text",
    [
        *(pytest.param(changed(PIPELINE, changes), id=why) for why, changes in REFUSED.items()),
        *(pytest.param(changed(JOIN, changes), id=why) for why, changes in REFUSED_JOINS.items()),
        *(
            pytest.param(changed(POLICY_JOIN, changes), id=why)
            for why, changes in REFUSED_POLICY_JOINS.items()
        ),
        *(
            pytest.param(changed(OPERATORS, changes), id=why)
            for why, changes in REFUSED_OPERATORS.items()
        ),
    ],
)
def test_the_validator_refuses_what_the_list_calls_illegal(text: str) -> None:
    with pytest.raises(PipelineError):
        parse_pipeline(text)


def test_every_rule_of_the_list_is_shown_or_true_by_definition() -> None:
    refused = (REFUSED, REFUSED_JOINS, REFUSED_POLICY_JOINS, REFUSED_OPERATORS)
    shown = [*(why for one in refused for why in one), *BY_DEFINITION]
    assert not [rule.why for rule in ILLEGAL if not any(rule.why.startswith(s) for s in shown)]


def test_features_are_read_off_pipeline_log_and_plan() -> None:
    lane = ({"source": "s", "partition": 0, "offset": 0, "control": {"bound": 1, "on": {"g": 1}}},)
    plan = (PlannedBatch(take=(1,), failures=(Failure("sink refuses"),), restore=1),)
    case = Case(
        "by hand", "slackwater", PIPELINE, (lane,), plan, tuning={"compact_after_deltas": 1}
    )
    met = {spelled(number) for number in pairs_of(case, parse_pipeline(PIPELINE))}
    assert {
        "class sliding × control bound on",
        "late update × fault sink refuses",
        "generator ordered × fault old checkpoint",
        "aggregate count × run compaction at once",
    } <= met
    assert not any("tumbling" in pair or "several lanes" in pair for pair in met)


def test_what_is_believed_and_refused_is_read_off() -> None:
    """By what a lane itself has said: its first change is in time, and the other is not."""
    query = {"window": "RANGE 4 us SLIDE 2 us WATTR ts", "aggregates": {"n": "count"}, "from": 4}
    contents: tuple[Event, ...] = (
        {"control": {"queries": {"add": {"a": query}}}},
        {"value": {"ts": 9, "g": "x", "h": 1, "n": 1}},
        {"control": {"queries": {"add": {"b": query}}}},
        {"control": {"soon": True}},
    )
    place = {"source": "s", "partition": 0}
    lane = tuple({**place, "offset": at, **content} for at, content in enumerate(contents))
    refused: dict[str, set[str]] = {}
    for rule in ("none", "bounds", "all"):
        text = PIPELINE.replace("partitions: 1", f"partitions: 1\n  control: {rule}")
        case = Case("by hand", "slackwater", text, (lane,), ())
        met = {spelled(number) for number in pairs_of(case, parse_pipeline(text))}
        assert f"class sliding × believes {rule}" in met
        refused[rule] = {pair[24:] for pair in met if pair.startswith("class sliding × refused")}
    assert refused == {
        "none": {"not_allowed"},
        "bounds": {"not_allowed", "malformed"},
        "all": {"change_too_late", "malformed"},
    }


def test_the_summary_names_what_was_not_met() -> None:
    pair = pair_number(("class", "sliding"), ("late", "drop"))
    first, second = summary(legal() - {pair})
    assert re.fullmatch(r"pairs of features met: (\d+) of (\d+), 100\.0%", first)
    assert second == "not met: class sliding × late drop"
    assert len([*summary(legal())]) == 1
