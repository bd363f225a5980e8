"""Planted bugs: each is there, convicted by its recorded case, and reaches what it says."""

from __future__ import annotations

import re
from functools import partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

import chaos.planted_bugs
from chaos.planted_bugs import PLANTED_BUGS, convictions
from chaos.planted_bugs.convictions import (
    RUNS,
    BugCoverage,
    SearchResult,
    convicted,
    conviction,
    reached,
    table,
    with_table,
)
from chaos.planted_bugs.planted import PlantedBug, planted
from chaos.simulator.case import read_case, write_case
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.run import draw_case, run_case
from chaos.simulator.simulate import simulate
from slackwater.main import app
from windowing.engine.aggregates import Accumulators
from windowing.engine.effects import MECHANISMS
from windowing.engine.lane import Lane
from windowing.engine.storage.parcel import shard_of
from windowing.engine.windows.session import SessionLanePart
from windowing.engine.windows.sliding import SlidingShardPart

HOUSE = Path(chaos.planted_bugs.__file__).parent


def test_what_bugs_replace_is_there() -> None:
    """A name that has moved would make a bug crash instead of giving wrong rows."""
    jobs = [bug.parts.job for bug in PLANTED_BUGS.values()]
    places = {place for job in jobs if isinstance(job, partial) for place in job.args[0]}
    assert places
    for module, _, name in (place.partition(":") for place in places):
        attrgetter(name)(import_module(module))


def test_a_bug_that_another_check_finds_counts_as_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    true = PLANTED_BUGS["rows_from_one"]
    monkeypatch.setitem(PLANTED_BUGS, "misjudged", PlantedBug(true.parts, frozenset({"progress"})))
    verdict = convictions.search("misjudged", 8)
    assert verdict.found_by == ("deterministic",)
    assert not verdict.ok
    assert verdict.line.endswith("by deterministic: expected progress")


def test_an_engine_without_a_bug_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planting classes and functions that change nothing does no harm."""

    class SameSessions(SessionLanePart):
        pass

    class SameWindows(SlidingShardPart):
        pass

    class SameSums(Accumulators):
        pass

    def same_shard(keys: pl.DataFrame, shards: int) -> pl.Series:
        return shard_of(keys, shards)

    for name in ("classes", "function"):
        monkeypatch.setitem(PLANTED_BUGS, name, PLANTED_BUGS["join_pairs_twice"])
    planted("classes", "deterministic", kinds=(SameWindows, SameSums))(SameSessions)
    planted("function", "deterministic", at="windowing.engine.storage.parcel:shard_of")(same_shard)
    for name in ("classes", "function"):
        verdict = convictions.search(name, 7, runs=3)
        assert verdict == SearchResult(name, 3, (), frozenset({"deterministic"}))
        assert verdict.line.endswith("not found in 3 runs")


def test_nothing_that_was_planted_stays() -> None:
    names = vars(Lane).copy(), shard_of, vars(Accumulators).copy()
    for name in ("hash_of_the_lane", "int_sum_by_double", "null_key_is_empty_text"):
        run_case(draw_case(7, 0, PLANTED_BUGS[name].parts), PLANTED_BUGS[name].parts)
    from windowing.engine.storage import parcel

    assert (vars(Lane).copy(), parcel.shard_of, vars(Accumulators).copy()) == names


def test_a_planted_bug_gets_pipelines_in_which_it_can_show(tmp_path: Path) -> None:
    parts = PLANTED_BUGS["join_pairs_twice"].parts
    assert all("join:" in draw_case(3, number, parts).pipeline for number in range(5))
    parts = PLANTED_BUGS["rows_from_one"].parts
    report = simulate(2, 7, parts=parts, keep=tmp_path, stop_at=1, shrunk=0)
    assert report.failures[0].file.is_file()


def test_every_declaration_is_known_and_says_how_one_gets_the_bug() -> None:
    declared = []
    for path in HOUSE.glob("*.py"):
        above: list[str] = []
        for line in path.read_text(encoding="utf-8").splitlines():
            if re.match(r"@?planted\w*\(", line):
                assert "How one gets it:" in " ".join(above), (path.name, line)
                declared.append(line)
            above = [*above, line[2:]] if line.startswith("# ") else []
    assert len(declared) == len(PLANTED_BUGS) >= 60
    assert all(bug.expected for bug in PLANTED_BUGS.values())


def test_a_check_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="no such check: 'progres'"):
        planted("any", "closing, progres")


def test_the_command_searches_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: PLANTED_BUGS[name] for name in ("sum_of_nulls_is_zero", "rows_from_one")}
    never = PlantedBug(EngineParts("never"), frozenset({"deterministic"}))

    def run(expected: int) -> str:
        monkeypatch.setattr(convictions, "PLANTED_BUGS", few)
        monkeypatch.setattr(convictions.search_all, "__defaults__", (RUNS, 1, list(few)))
        command = ["chaos", "simulate", "--guilty", "all", "--seed", "7", "--runs", "3"]
        result = CliRunner().invoke(app, [*command, "--jobs", "1"])
        assert result.exit_code == expected, result.output
        return result.output

    lines = run(0).splitlines()
    assert lines[-1] == "2 found, 0 not found"
    assert "sum_of_nulls_is_zero" in lines[0]
    assert "by deterministic" in lines[0]
    few["never"] = never
    assert "1 not found" in run(1)


FOLDER = Path(__file__).parents[3] / "data" / "convictions"
RECORDED = {path.stem for path in FOLDER.glob("*.json")}
AGAIN = "slackwater chaos simulate --record tests/data/convictions --guilty"


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_a_planted_bug_is_convicted_by_its_recorded_case(name: str) -> None:
    bug, case = PLANTED_BUGS[name], read_case(conviction(FOLDER, name))
    found_by = {finding.check for finding in run_case(case, bug.parts).findings}
    assert found_by & bug.expected, f"search for another case: {AGAIN} {name}"
    assert not run_case(case, EngineParts()).findings, "the engine has this bug, or another one"


def test_every_planted_bug_has_a_case() -> None:
    assert sorted(RECORDED) == sorted(PLANTED_BUGS), f"record one: {AGAIN} NAME"


def record(folder: Path) -> str:
    command = ["chaos", "simulate", "--record", str(folder), "--seed", "11", "--jobs", "1"]
    result = CliRunner().invoke(app, [*command, "--guilty", "sort_is_not_stable", "--runs", "30"])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_records_a_case_unless_there_is_one(tmp_path: Path) -> None:
    file = conviction(tmp_path, "sort_is_not_stable")
    assert "sort_is_not_stable" in record(tmp_path)
    first = read_case(file)
    assert convicted(PLANTED_BUGS["sort_is_not_stable"], first) == ("deterministic",)
    assert "as recorded by deterministic" in record(tmp_path)
    write_case(replace(first, lanes=tuple(() for _ in first.lanes)), file)
    assert "by deterministic" in record(tmp_path)
    assert read_case(file) == first


def test_nobody_is_convicted_by_what_the_engine_itself_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bug = PLANTED_BUGS["join_pairs_twice"]
    case = read_case(conviction(FOLDER, bug.name))
    assert convicted(bug, case)
    monkeypatch.setattr(convictions, "EngineParts", lambda: bug.parts)
    assert not convicted(bug, case)


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


@pytest.mark.parametrize(("name", "code"), [("gap_is_late", 0), ("lacking", 1)])
def test_only_a_bug_without_a_case_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, name: str, code: int
) -> None:
    """The records of `gap_is_late` come through no mechanism that is counted."""
    monkeypatch.setattr(convictions.reached, "__defaults__", (1, ["gap_is_late", name]))
    done = CliRunner().invoke(app, ["chaos", "convictions", str(FOLDER), "--jobs", "1"])
    assert done.exit_code == code, done.output


def test_the_committed_table_counts_all_planted_bugs() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"Of {len(PLANTED_BUGS)} planted bugs, `make test` convicts" in text, (
        "run `slackwater chaos convictions --write chaos/coverage.md`"
    )
    assert all(f"| {mechanism} |" in text for mechanism in MECHANISMS)
