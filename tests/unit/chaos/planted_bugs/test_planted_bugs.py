"""Planted bugs: how they are declared, planted, and searched for."""

from __future__ import annotations

import re
from functools import partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import chaos.planted_bugs
from chaos.planted_bugs import PLANTED_BUGS, convictions
from chaos.planted_bugs.convictions import RUNS, SearchResult
from chaos.planted_bugs.planted import PlantedBug, planted
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.run import draw_case, run_case
from chaos.simulator.simulate import simulate
from slackwater.main import app
from windowing.engine.aggregates import Accumulators
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
    verdict = convictions.search("misjudged", 7)
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
