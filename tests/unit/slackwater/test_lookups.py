"""Commands that answer: `capacity`, `secret`, `tables` and `why`."""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Event

import pytest
import yaml
from typer.testing import CliRunner, Result

from slackwater import tables as upkeep_command
from slackwater.capacity import _bytes, _number
from slackwater.main import app
from tests.unit.slackwater.test_results import TEXT, answer, command, pipeline, refusal

PIPELINES = Path("tests/data/pipelines")


def capacity(pipeline: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["capacity", str(pipeline), *arguments])


def shown(result: Result, name: str) -> str:
    found = re.search(rf"^{name} +(\S.*?)   ", result.output, re.MULTILINE)
    assert found is not None, result.output
    return found[1]


def test_a_load_that_is_ten_times_as_large_needs_ten_times_the_executors() -> None:
    small, large = (
        capacity(PIPELINES / "tumbling/pipeline.yml", "--rate", rate, "--keys", "1M")
        for rate in ("10M", "100M")
    )
    executors = [int(shown(result, "executors").replace(",", "")) for result in (small, large)]
    assert executors[1] == pytest.approx(10 * executors[0], rel=0.1)
    assert "assuming that" in small.output
    assert "the file has 1" in small.output


def test_what_was_not_measured_is_refused_with_a_sentence() -> None:
    result = capacity(PIPELINES / "join/pipeline.yml", "--rate", "1k", "--keys", "10")
    assert result.exit_code != 0
    assert "is a join or an operator" in str(result.exception)


def test_what_was_not_measured_is_left_out_where_other_queries_were(tmp_path: Path) -> None:
    """T11: a plug-in's window, or any other kind, had all of the pipeline refused."""
    file, text = tmp_path / "p.yml", (PIPELINES / "tumbling/pipeline.yml").read_text()
    document = yaml.safe_load(text)
    wattr = document["source"]["event_time"]["field"]
    landmark = f"RANGE LANDMARK SLIDE 1 hour WATTR {wattr}"
    document["queries"]["lasting"] = {"window": landmark, "aggregates": {"n": "count"}}
    file.write_text(yaml.safe_dump(document, sort_keys=False))
    result = capacity(file, "--rate", "1M", "--keys", "1M")
    assert result.exit_code == 0, result.output
    assert "not counted: query lasting: a landmark window was not measured" in result.output


@pytest.mark.parametrize("text", ["", "many", "-5", "1 M", "1T"])
def test_a_load_that_is_no_number_is_refused(text: str) -> None:
    given = ("--rate", text, "--keys", "10")
    result = capacity(PIPELINES / "tumbling/pipeline.yml", *given)
    assert result.exit_code == 2


def test_a_length_that_is_none_is_refused() -> None:
    given = ("--rate", "1k", "--keys", "10", "--every", "soon")
    result = capacity(PIPELINES / "tumbling/pipeline.yml", *given)
    assert result.exit_code == 2
    assert "soon" in result.output


def test_numbers_are_read_and_shown_as_people_write_them() -> None:
    assert [_number("--rate", text) for text in ("50000", "10k", "1.5M", "2G")] == [
        50_000,
        10_000,
        1_500_000,
        2_000_000_000,
    ]
    assert [_bytes(count) for count in (12, 1_500, 2e6, 4.71e9, 3e15)] == [
        "12 B",
        "1.5 kB",
        "2 MB",
        "4.71 GB",
        "3,000.0 TB",
    ]


def run(*arguments: str) -> tuple[int, list[str]]:
    result = CliRunner().invoke(app, ["secret", *arguments])
    return result.exit_code, result.stdout.splitlines()


def test_engines_are_listed_with_their_parameters() -> None:
    code, lines = run("engines")
    assert code == 0
    assert "storm: Storm" in lines
    assert "  time windows: start b - w; time-driven; report non-empty and window close" in lines


def test_reports_are_printed_with_their_cause() -> None:
    code, lines = run("simulate", "flink", "--size", "3", "--times", "10,11,12,13,17")
    assert code == 0
    assert lines == [
        "Flink: windows above -1, 2 reports",
        "  (8, 11] {t1,t2} at arrival 3",
        "  (11, 14] {t3,t4} at arrival 5",
    ]


def test_a_file_is_read_and_a_picture_drawn(tmp_path: Path) -> None:
    file, picture = tmp_path / "in.csv", tmp_path / "out.png"
    file.write_text("1,1,1,1\n2,2,2,1\n3,3,3,2\n")
    options = ("--size", "2", "--tuples", "--input", str(file), "--picture", str(picture))
    code, lines = run("simulate", "storm", *options)
    assert code == 0
    assert lines[1] == "  (0, 2] {t1,t2} at arrival 3"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_difference_is_explained_and_fails() -> None:
    options = ("--size", "4", "--slide", "2", "--times", "1,2,4,4,7,12")
    code, lines = run("compare", "flink", "storm", *options)
    assert code == 1
    assert lines[-2:] == ["explained by", "  start of windows: -3 | -2"]


def test_equal_engines_pass() -> None:
    code, lines = run("compare", "flink", "dataflow", "--size", "4", "--times", "1,2,9")
    assert (code, lines[-1]) == (0, "equal on this input")


def test_a_proposal_is_yaml() -> None:
    code, lines = run("like", "flink-real", "pipelines/flight_delays.yml")
    assert code == 0
    assert lines[:3] == [
        "# windows as in Flink, the product",
        "hourly:",
        "  # window: as it is",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("simulate", "flink", "--size", "3"),
        ("simulate", "flink", "--size", "3", "--times", "1", "--input", "x.csv"),
        ("simulate", "flink", "--size", "0", "--times", "1"),
        ("like", "flink", "pipelines/flight_delays.yml", "--first", "soon"),
    ],
)
def test_a_wrong_command_line_is_refused(arguments: tuple[str, ...]) -> None:
    assert run(*arguments)[0] == 2


__all__ = ["pipeline"]


def test_optimize_says_what_it_does_and_leaves_the_results(pipeline: Path) -> None:
    before = answer("newest", "--json", pipeline)
    would = command("tables", pipeline, "optimize", "--dry-run")
    assert would.exit_code == 0, would.output
    assert "would be merged" in would.stdout
    done = command("tables", pipeline, "optimize")
    assert "hourly: " in done.stdout
    assert "merged into " in done.stdout
    assert "hourly: 0 files" in command("tables", pipeline, "optimize").stdout
    assert answer("newest", "--json", pipeline) == before
    removed = command("tables", pipeline, "vacuum", "--retention", "1 hour", "--run", "r1")
    assert "hourly: 0 files (0.0 MB) removed" in removed.stdout


def test_one_waits_for_another(pipeline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both would be committed if they had read the same files, each with all rows."""
    home, waits, said = pipeline.parent / ".slackwater", Event(), list[str]()

    def say(line: str) -> None:
        said.append(line)
        if "waiting" in line:
            waits.set()

    monkeypatch.setattr(upkeep_command, "say", say)
    before = sorted(home.glob("tables/*/hourly/**/*.parquet"))
    other = os.open(home / "runs/flight_delays", os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_SH)  # so that it is seen whether ours shares, too
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(command, "tables", pipeline, "optimize")
        assert waits.wait(60.0)
        assert sorted(home.glob("tables/*/hourly/**/*.parquet")) == before
        os.close(other)
        assert done.result(60.0).exit_code == 0
    assert said[0] == "another upkeep of these tables is running: waiting for its end"
    assert any("merged into " in line for line in said)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--retention", "1 min"], "is too short: a batch that is being written has files"),
        (["--retention", "5 rows"], "--retention 5 rows"),
    ],
)
def test_a_wrong_retention_is_refused(pipeline: Path, words: list[str], sentence: str) -> None:
    assert sentence in refusal("tables", pipeline, "vacuum", *words)


def test_files_stay_as_long_as_the_runs_own_file_says(pipeline: Path) -> None:
    command("tables", pipeline, "optimize")
    (own,) = pipeline.parent.glob(".slackwater/runs/*/r1/*.yml")
    merged = [*pipeline.parent.glob(".slackwater/tables/*/hourly/run=r1/part-*.parquet")]
    then = time.time() - timedelta(days=3).total_seconds()
    for path in (*pipeline.parent.glob(".slackwater/tables/*/hourly/**/*"), *merged):
        os.utime(path, (then, then))
    orphan = merged[0].with_name(f"part-00000-{uuid.UUID(int=1)}-c000.snappy.parquet")
    orphan.write_bytes(b"rows")
    os.utime(orphan, (then, then))
    assert "hourly: 0 files" in command("tables", pipeline, "vacuum").stdout
    upkeep = 'upkeep: {schedule: "@daily", retention: 2 days}\n'
    own.write_text(own.read_text(encoding="utf-8") + upkeep, encoding="utf-8")
    assert (
        "hourly: 0 files" in command("tables", pipeline, "vacuum", "--retention", "4 days").stdout
    )
    assert "hourly: 1 files" in command("tables", pipeline, "vacuum").stdout
    assert not orphan.exists()


def test_before_the_first_run_there_is_nothing_to_tend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACKWATER_STATE_DIR", str(tmp_path / "state"))
    file = tmp_path / "flight_delays.yml"
    file.write_text(TEXT, encoding="utf-8")
    done = command("tables", file, "optimize")
    assert (done.exit_code, done.stdout) == (0, "no run yet, and so no tables\n")


PIPELINE = """
name: p
source: {topic: s, partitions: 2, format: json, event_time: {field: ts, unit: s},
  fields: {k: string, n: int}, disorder: {slack: 5 s}}
queries:
  q:
    window: RANGE 10 s SLIDE 10 s WATTR ts
    group_by: [k]
    aggregates: {n: count}
    late: {policy: update, every: 20 s}
    retention: 100 s
  r: {window: RANGE 2 rows SLIDE 2 rows WATTR row_num PATTR n, aggregates: {c: count}}
"""
RECORDS = [(0, 0, 3), (1, 0, 5), (0, 1, 30), (1, 1, 12), (0, 2, 4), (0, 3, 200), (0, 4, 6)]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    pipeline, events = tmp_path / "p.yml", tmp_path / "e.jsonl"
    pipeline.write_text(PIPELINE)
    with events.open("w") as file:
        for lane, offset, ts in RECORDS:
            value = {"ts": ts, "k": "a" if lane == 0 else "b", "n": lane}
            line = {"source": "s", "partition": lane, "offset": offset, "value": value}
            file.write(json.dumps(line) + "\n")
    return str(pipeline), str(events)


def said(files: tuple[str, str], *words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["why", files[0], "--input", files[1], *words])
    found = getattr(done.exception, "exit_code", done.exit_code)
    assert (found or done.exit_code) == code, done.output
    return f"{done.output}{done.exception or ''}"


def test_an_open_window_says_who_holds_it_back(files: tuple[str, str]) -> None:
    assert said(files, "--query", "q", "--window", "1970-01-01", "--key", "a").splitlines() == [
        "query q, window 0, k a: 1970-01-01T00:00:00Z to 1970-01-01T00:00:10Z",
        "open: it closes once all lanes have passed 1970-01-01T00:00:10Z; they are at "
        "1970-01-01T00:00:07Z",
        "  s/1 holds it back: at 1970-01-01T00:00:07Z since offset 1; a record of "
        "1970-01-01T00:00:15Z, or a bound of 1970-01-01T00:00:10Z, releases it",
        "it holds 2 records:",
        "  s/0 offset 0, 1970-01-01T00:00:03Z (its lane was at its beginning): revision 0, due at "
        "1970-01-01T00:00:10Z",
        "  s/0 offset 2, 1970-01-01T00:00:04Z (its lane was at 1970-01-01T00:00:25Z): revision 1, "
        "due at 1970-01-01T00:00:40Z",
        "1 record came too late for it:",
        "  s/0 offset 4, 1970-01-01T00:00:06Z (its lane was at 1970-01-01T00:03:15Z): "
        "out_of_retention",
    ]
    found = json.loads(said(files, "--query", "q", "--window", "0", "--key", "a", "--json"))
    assert [lane["holds_back"] for lane in found["lanes"]] == [False, True]
    assert [record["sent"] for record in found["records"]] == [False, False]


def test_windows_that_begin_together_are_named_by_their_ids(files: tuple[str, str]) -> None:
    Path(files[0]).write_text(PIPELINE.replace("RANGE 10 s", "RANGE CUMULATE 20 s"))
    key = ("--query", "q", "--key", "a")
    refused = said(files, *key, "--window", "1970-01-01", code=2).replace("│", " ")
    assert "name one by its id" in " ".join(refused.split())
    second = said(files, *key, "--window", "1").splitlines()[0]
    assert second.endswith("1970-01-01T00:00:00Z to 1970-01-01T00:00:20Z")


def test_windows_over_rows_count(files: tuple[str, str]) -> None:
    closed = said(files, "--query", "r", "--window", "0", "--key", "0")
    assert "closed: 2 records" in closed
    waits = said(files, "--query", "r", "--window", "2", "--key", "0")
    assert "open: its rows are counted" in waits


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--window", "0", "--key", "a"), "several queries, q, r"),
        (("--query", "x", "--window", "0"), "the queries with windows are: q, r"),
        (("--query", "q", "--window", "0"), "has the key k: give one --key for each"),
        (("--query", "r", "--window", "0", "--key", "a"), "--key a: not of type int"),
        (("--query", "q", "--window", "soon", "--key", "a"), "or the window's id"),
        (("--query", "q", "--window", "1970-01-01T01", "--key", "a"), "no window that begins"),
    ],
)
def test_what_is_not_a_window_is_said(
    files: tuple[str, str], words: tuple[str, ...], why: str
) -> None:
    assert why in " ".join(said(files, *words, code=2).replace("│", " ").split())
