"""Files of queries that a running pipeline is to have in addition."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from windowing.model import PipelineError, Query, parse_pipeline
from windowing.model.file.asked import read_asked
from windowing.model.file.changes import Copy, changed, parse_change

TEXT = """\
name: p
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {k: string, v: int}
  disorder: {slack: 5 seconds}
  control: all
queries:
  w: {window: RANGE 1 hour SLIDE 1 hour WATTR ts, aggregates: {n: count}}
"""
PIPELINE = parse_pipeline(TEXT)
DAILY = """\
  daily:
    window: RANGE 1 day SLIDE 1 day WATTR ts
    from: 2026-12-01
    aggregates: {worst: max(v)}
"""


def asked(folder: Path, text: str) -> dict[str, dict[str, object]]:
    file = folder / "more.yml"
    file.write_text(text, encoding="utf-8")
    return read_asked(file, PIPELINE)


@pytest.mark.parametrize("text", ["queries:\n" + DAILY, TEXT + DAILY])
def test_a_file_of_queries_or_an_edited_pipeline_is_what_a_control_record_says(
    tmp_path: Path, text: str
) -> None:
    found = asked(tmp_path, text)
    assert found == {
        "daily": {
            "window": "RANGE 1 day SLIDE 1 day WATTR ts",
            "from": 1_796_083_200_000_000,
            "aggregates": {"worst": "max(v)"},
        }
    }
    change = parse_change(json.loads(json.dumps({"queries": {"add": found}})))
    assert change is not None
    after = changed(PIPELINE, Copy("s/0", 7, change))
    assert not isinstance(after, str)
    assert [query.name for query in after.of(Query)] == ["w", "daily"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            DAILY.replace("    from: 2026-12-01\n", ""),
            "more.yml:2: queries.daily: a query that joins",
        ),
        (DAILY.replace("max(v)", "max(u)"), "more.yml:5: queries.daily.aggregates.worst: "),
        (DAILY.replace("RANGE 1 day SLIDE 1 day", "SESSION 1 day"), "queries.daily.from: E_ACTIVE"),
        (DAILY.replace("daily", "w"), "there is no new one: the run has w"),
        (DAILY + "    colour: red\n", "more.yml:6: queries.daily.colour"),
    ],
)
def test_a_mistake_has_line_field_and_rule(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(PipelineError) as caught:
        asked(tmp_path, "queries:\n" + text)
    assert says in str(caught.value)
