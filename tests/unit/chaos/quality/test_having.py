"""Rows that `having` holds back leave holes in revisions; windows that it withdraws are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.quality.run import check
from tests.unit.chaos.verdict.test_verify import write_tables
from tests.unit.engine.test_sent_rows import UPDATE, log, pipeline
from windowing.semantics import evaluate

# Great Expectations is itself built on what its libraries deprecate.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

_BLOCK = [
    {"query": "q", "expect_revisions_to_rise_without_holes": {}, "revisions": "all"},
    {"query": "q", "expect_window_set_to_match_definition": {}},
]


@pytest.mark.parametrize("accumulation", ["accumulating", "retracting"])
def test_holes_are_legal_and_what_was_withdrawn_is_no_window(
    accumulation: str, tmp_path: Path
) -> None:
    """Window 0 of a counts 1, 2, 3, of which 1 and 3 hold; that of b 1, 2, so that it is gone."""
    query = {"having": "n IN (1, 3)", "accumulation": accumulation}
    spec = pipeline(query, **UPDATE, quality=_BLOCK)
    lane = [(1, "a", 1), (1, "b", 1), (25, "c", 1), (4, "a", 1), (35, "c", 1)]
    entries = log([*lane, (5, "a", 1), (5, "b", 1), (60, "c", 1)], [])
    outcome = evaluate(spec, entries)
    assert {row.revision for row in outcome.rows if row.key == ("a",)} >= {0, 2}
    write_tables(tmp_path / "tables", spec, outcome)
    report = check(spec, tmp_path / "tables", "r1", entries, tmp_path / "docs")
    assert [one.success for one in report.results][:2] == [True, True], report
