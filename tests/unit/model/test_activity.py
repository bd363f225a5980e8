"""`from`, `until` and `warmup` of a query: what a file may say, and what the plan then knows."""

from __future__ import annotations

import pytest

from windowing.engine.plan import plan_of
from windowing.explain.pipeline import explain
from windowing.model import Pipeline, PipelineError, parse_pipeline

FILE = """\
name: p
source:
  topic: s
  partitions: 1
  format: json
  event_time: {{field: ts, unit: us}}
  fields: {{k: string, n: int}}
  disorder: {{slack: 5 seconds}}
  disorder_of: {{n: ordered}}
queries:
  w: {{window: {window}, aggregates: {{n: count}}, {active}}}
"""
HOURLY = "RANGE 1 hour SLIDE 10 minutes WATTR ts"


def pipeline(active: str, window: str = HOURLY) -> Pipeline:
    return parse_pipeline(FILE.format(window=window, active=active))


@pytest.mark.parametrize(
    "spelled", ["1970-01-01T05:00Z", "1970-01-01T06:00+01:00", "5 hours", "18000000000"]
)
def test_an_instant_is_a_date_a_length_since_1970_or_microseconds(spelled: str) -> None:
    by_date = pipeline('from: "1970-01-01T05:00:00Z"')
    assert pipeline(f"from: {spelled}").fingerprint == by_date.fingerprint


@pytest.mark.parametrize(
    ("active", "window", "says"),
    [
        ("from: soon", HOURLY, "'soon' is not an instant"),
        ("from: 900000000000000000000", HOURLY, "must lie within"),
        ("from: 1 hour", "SESSION 10 minutes WATTR ts", "session window"),
        ("until: 1 hour", "RANGE 5 rows SLIDE 5 rows WATTR row_num", "tuple window"),
        ("from: 1 hour", "RANGE LANDMARK SLIDE 1 hour WATTR ts", "landmark window"),
        ("from: 1 hour", "RANGE CUMULATE 1 day SLIDE 1 hour WATTR ts", "no running total"),
        ("from: 1 hour", "RANGE 5 SLIDE 5 WATTR n", "do not lie in event time"),
        ("warmup: emit", HOURLY, "warmup goes with from"),
        ("from: 1 hour, until: 119 minutes", HOURLY, "let it leave later"),
        ("from: 1 hour, warmup: pass", HOURLY, "'skip' or 'emit'"),
    ],
)
def test_what_cannot_be_is_an_error_with_line_and_rule(active: str, window: str, says: str) -> None:
    with pytest.raises(PipelineError) as caught:
        pipeline(active, window)
    assert "<pipeline>:11: queries.w" in str(caught.value)
    assert says in str(caught.value)


def test_activity_is_a_fact_of_a_pipeline_and_its_absence_is_none() -> None:
    fingerprints = [
        pipeline(active).fingerprint for active in ("", "from: 1 h", "from: 2 h", "until: 2 h")
    ]
    fingerprints.append(pipeline("from: 1 h, warmup: emit").fingerprint)
    assert len(set(fingerprints)) == len(fingerprints)
    assert pipeline("from: 1 h, warmup: skip").fingerprint == fingerprints[1]


def test_explain_says_which_windows_are_there() -> None:
    lines = list(explain(plan_of(pipeline('from: "2013-01-02", until: "2013-02-01"'))))
    assert "  joins at 2013-01-02T00:00:00Z: windows that begin then or later" in lines
    assert "  leaves at 2013-02-01T00:00:00Z: windows that end by then" in lines
