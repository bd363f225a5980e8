"""The section `upkeep:` of a pipeline file."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.unit.model.test_documents import GOOD
from windowing.model import PipelineError, parse_pipeline


def test_tables_are_tended_if_the_file_says_when() -> None:
    assert parse_pipeline(GOOD).upkeep is None
    upkeep = parse_pipeline(GOOD + 'upkeep: {schedule: "@daily"}\n').upkeep
    assert upkeep is not None
    assert (upkeep.schedule, upkeep.retention) == ("@daily", timedelta(days=7))
    upkeep = parse_pipeline(GOOD + 'upkeep: {schedule: "5 * * * *", retention: 36 hours}\n').upkeep
    assert upkeep is not None
    assert upkeep.retention == timedelta(hours=36)


def test_upkeep_leaves_the_meaning_as_it_is() -> None:
    tended = parse_pipeline(GOOD + 'upkeep: {schedule: "@daily"}\n')
    assert tended.fingerprint == parse_pipeline(GOOD).fingerprint


@pytest.mark.parametrize(
    ("section", "rule"),
    [
        ("{schedule: continuous}", "upkeep is due at times"),
        ("{schedule: often}", "neither continuous nor a cron expression"),
        ("{}", "schedule"),
        ('{schedule: "@daily", retention: 5 minutes}', "out of range"),
        ('{schedule: "@daily", retention: 5 rows}', "not a length of time"),
        ('{schedule: "@daily", keep: 1 day}', "keep"),
    ],
)
def test_every_key_has_a_rule(section: str, rule: str) -> None:
    with pytest.raises(PipelineError, match=rule):
        parse_pipeline(f"{GOOD}upkeep: {section}\n", "p.yml")


def test_other_sinks_have_no_files_to_tend() -> None:
    with pytest.raises(PipelineError, match=r"upkeep is for sink: {table: NAME}; postgres has no"):
        parse_pipeline(GOOD + 'sink: {postgres: p}\nupkeep: {schedule: "@daily"}\n')
