"""What a file may say of duplicates, and what it is told otherwise."""

from __future__ import annotations

import pytest

from windowing.engine.plan import plan_of
from windowing.explain.pipeline import explain
from windowing.model import Pipeline, parse_pipeline
from windowing.model.errors import PipelineError

TEXT = """
name: retries
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {id: string, v: float}
  disorder: ordered
  duplicates: {by: [id], within: 1 hour}
queries:
  q: {window: RANGE 40 us SLIDE 20 us WATTR ts, aggregates: {n: count}}
"""


def of(rule: str) -> Pipeline:
    return parse_pipeline(TEXT.replace("{by: [id], within: 1 hour}", rule))


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("{by: [idd], within: 1 hour}", r"by.0: 'idd' is not under .*: did you mean 'id'"),
        ("{by: [ts], within: 1 hour}", r"by.0: 'ts' is not under source.fields \(known: id, v\)"),
        ("{by: [], within: 1 hour}", r"by: \[\] names no fields: list those"),
        ("{by: id, within: 1 hour}", r"by: 'id' names no fields: list those"),
        ("{by: [id, id], within: 1 hour}", "by: 'id' is listed twice"),
        ("{by: [id], within: 0 s}", "within: '0 s' is out of range: it must be positive"),
        ("{by: [id], within: 5}", "within: 5 is not a length of time: it needs a unit"),
        ("{by: [id]}", "within is missing"),
        ("{by: [id], withn: 1 hour}", "did you mean 'within'"),
        ("true", r"True is no rule: write duplicates: \{by: \[id\], within: 1 hour\}"),
    ],
)
def test_a_mistake_is_named_with_its_place(rule: str, said: str) -> None:
    with pytest.raises(PipelineError, match=rf":10: source.duplicates.*{said}"):
        of(rule)


def test_the_order_of_fields_is_no_fact_and_all_else_is() -> None:
    rules = (
        "{by: [id, v], within: 1 hour}",
        "{by: [id], within: 1 hour}",
        "{by: [id], within: 1 s}",
    )
    assert len({of(rule).fingerprint for rule in rules}) == 3
    assert of("{by: [v, id], within: 60 min}").fingerprint == of(rules[0]).fingerprint


def test_explain_says_what_is_kept_and_what_is_not_found() -> None:
    lines = list(explain(plan_of(of("{by: [id], within: 1 hour}"))))
    assert "  plan: lanes have a stage of their own: source s has duplicates" in lines[1]
    assert any("one in another lane is not found" in line for line in lines)
    assert any("for 2 h behind the progress of its lane" in line for line in lines)
