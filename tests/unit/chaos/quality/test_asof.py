"""Revisions of as-of joins count per left record, whatever right record each of them has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from chaos.quality import QualityReport
from chaos.quality.run import check
from tests.strategies import entry
from tests.unit.chaos.verdict.test_verify import write_tables
from tests.unit.engine.test_asof import ASOF, lane
from windowing.model import parse_pipeline
from windowing.semantics import Outcome, evaluate

# Great Expectations is itself built on what its libraries deprecate.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

_BLOCK = """quality:
  - {query: pairs, expect_revisions_to_rise_without_holes: {}, revisions: all}
  - {query: pairs, expect_window_set_to_match_definition: {}}
"""
_UPDATE = "{policy: update, every: 4 us}\nretention: 90 us"
_PIPELINE = parse_pipeline(
    ASOF.format(within=9, late=_UPDATE, left="l", right="r", lanes=1) + _BLOCK
)
_LOG = [
    *lane("l", "v", 0, [(10, "a"), (12, "a")]),
    # 8 is known from the start, 9 and 10 become known at 24 and 28.
    *lane("r", "w", 0, [(8, "a"), (20, "a"), (9, "a"), (25, "a"), (10, "a"), (40, "a")]),
]


def judged(folder: Path, outcome: Outcome) -> QualityReport:
    write_tables(folder / "tables", _PIPELINE, outcome)
    entries = map(entry, _LOG)
    return check(_PIPELINE, folder / "tables", "r1", entries, folder / "docs")


def test_all_rows_of_a_left_record_are_its_revisions(tmp_path: Path) -> None:
    outcome = evaluate(_PIPELINE, map(entry, _LOG))
    assert [row.revision for row in outcome.rows if not row.retracts] == [0, 0, 1, 1, 2, 2]
    report = judged(tmp_path, outcome)
    assert [one.success for one in report.results][:2] == [True, True], report


def test_a_revision_that_is_missing_is_a_hole(tmp_path: Path) -> None:
    outcome = evaluate(_PIPELINE, map(entry, _LOG))
    rows = [row for row in outcome.rows if row.revision != 1]
    report = judged(tmp_path, replace(outcome, rows=rows))
    assert [one.success for one in report.results][:2] == [False, True], report
