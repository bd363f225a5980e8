"""The table of mechanisms and convictions: what it names, and where it is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from chaos.planted_bugs import PLANTED_BUGS
from chaos.planted_bugs.convictions import BugCoverage, reached, table, with_table
from slackwater.main import app
from windowing.engine.effects import MECHANISMS

FOLDER = Path(__file__).parents[3] / "data" / "convictions"
PAGE = Path("chaos") / "coverage.md"


def test_a_case_comes_through_what_its_bug_is_of() -> None:
    [one] = reached(FOLDER, names=["join_pairs_twice"])
    assert one.mechanisms is not None
    assert "read one by one" in one.mechanisms
    assert "families" not in one.mechanisms


def test_the_table_names_few_counts_many_and_says_what_is_left_to_nights() -> None:
    many = [BugCoverage(f"bug{n:02}", frozenset({"merged deltas"})) for n in range(13)]
    many += [BugCoverage(f"other{n:02}", frozenset({"conversion"})) for n in range(12)]
    lines = table(
        [*many, BugCoverage("rare", frozenset({"families"})), BugCoverage("lacking", None)]
    )
    assert "| families | 1 | `rare` |" in lines
    assert "| merged deltas | 13 | many |" in lines
    assert f"| conversion | 12 | {', '.join(f'`other{n:02}`' for n in range(12))} |" in lines
    assert "| early rows | 0 |  |" in lines
    assert len(lines) == len(MECHANISMS) + 4
    assert lines[-1] == (
        "Of 27 planted bugs, `make test` convicts 26; nights alone search for `lacking`."
    )


def test_it_is_written_where_the_page_has_a_place_for_it() -> None:
    page = "a\n<!-- convictions -->\nold\n<!-- /convictions -->\nb\n"
    assert with_table(page, ["new"]) == page.replace("old", "new")
    with pytest.raises(ValueError, match="needs lines"):
        with_table("a", ["new"])


def test_the_command_refuses_a_folder_without_cases(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["chaos", "convictions", str(tmp_path), "--jobs", "1"])
    assert done.exit_code == 2
    assert "has no recorded case" in done.output


def test_the_committed_table_counts_all_planted_bugs() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"Of {len(PLANTED_BUGS)} planted bugs, `make test` convicts" in text, (
        "run `slackwater chaos convictions --write chaos/coverage.md`"
    )
    assert all(f"| {mechanism} |" in text for mechanism in MECHANISMS)
