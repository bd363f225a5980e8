"""`slackwater newest` and `dead`, and every line that docs/results.md gives for other tools."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from deltalake import write_deltalake
from typer.testing import CliRunner

from chaos.readers.delta import read_tables
from chaos.verdict.verify import verify
from jobs.runs.folder import Run, write_note
from jobs.tools.dead_letters import Letter, by_reason, letters_in
from slackwater.main import app
from tests.strategies import Entry, entry
from tests.unit.test_tidy import ROOT
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline, parse_pipeline
from windowing.runtime.local import LocalEngine
from windowing.runtime.output import tagged
from windowing.semantics.values import Reason
from windowing.spark.sinks.reader import FolderReader
from windowing.spark.sinks.rows import schemas
from windowing.spark.sinks.table import TableSink

DOCUMENT = (ROOT / "docs/results.md").read_text(encoding="utf-8")
TEXT = """
name: flight_delays
source:
  topic: flights
  partitions: 2
  format: json
  event_time: {field: ts, unit: s}
  fields: {origin: "string?", delay: float}
  disorder: ordered
late: {policy: update, every: 1 hour}
retention: 1 day
queries:
  hourly: {window: RANGE 1 hour SLIDE 1 hour WATTR ts, group_by: [origin], aggregates:
    {flights: count, total: sum(delay)}}
  deltas: {window: RANGE 1 hour SLIDE 1 hour WATTR ts, aggregates: {n: count},
    accumulation: discarding}
"""
P = parse_pipeline(TEXT)
RECORDS = [(10, "EWR"), (20, None), (7300, "JFK"), (30, "EWR"), (40, None), (20000, "LGA")]
LINES = ("run", "query", "window_id", "window_start", "window_end", "origin", "flights", "total")


def log_of(records: Sequence[tuple[int, str | None]]) -> list[Entry]:
    values: list[Any] = [{"ts": ts, "origin": at, "delay": ts / 4} for ts, at in records]
    values += [{"ts": 1, "origin": "EWR", "delay": "late"}, {"ts": 2, "delay": None}, "nothing"]
    return [
        entry({"source": "flights", "partition": lane, "offset": at, "value": value})
        for lane in (0, 1)
        for at, value in enumerate(values)
    ]


def deploy(state: Path, run: str, log: Sequence[Entry], pipeline: Pipeline = P) -> None:
    """What a job leaves of a run: its tables, its note, its copy of the file."""
    folder, table = state / "runs" / pipeline.name / run, state / "tables" / pipeline.output
    folder.mkdir(parents=True)
    file = folder / "deployed.yml"
    file.write_text(pipeline.text, encoding="utf-8")
    write_note(Run(pipeline.name, run, "driver-1", folder, folder / "checkpoint", table, file))
    engine, sink = LocalEngine(pipeline), TableSink(pipeline, table, run)
    for number, batch in enumerate(batches(log, 10, pipeline)):
        sink.take([frame for sent in engine.feed(batch) for frame in tagged(sent)], number)


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a pipeline with two runs, of which the second is the newer one."""
    state = tmp_path / ".slackwater"
    monkeypatch.setenv("SLACKWATER_STATE_DIR", str(state))
    monkeypatch.chdir(tmp_path)
    deploy(state, "r0", log_of(RECORDS[:3]))
    deploy(state, "r1", log_of(RECORDS))
    file = tmp_path / "flight_delays.yml"
    file.write_text(TEXT, encoding="utf-8")
    return file


def command(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def refusal(*arguments: object) -> str:
    """The sentence of a command that is used wrongly."""
    done = command(*arguments)
    code = getattr(done.exception, "exit_code", done.exit_code)
    assert code == 2, done.output
    said = done.output if done.exception is None else f"{done.output} {done.exception}"
    return " ".join(said.replace("│", " ").split())


def answer(*arguments: object) -> list[dict[str, Any]]:
    done = command(*arguments)
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def spelled(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What is the same in every tool, in one order."""
    names = ("window_id", "origin", "revision", "flights", "total")
    return sorted(json.dumps([row[name] for name in names]) for row in rows)


def test_newest_gives_the_live_run_flat(pipeline: Path) -> None:
    rows = answer("newest", "--json", pipeline, "--query", "hourly")
    assert {row["run"] for row in rows} == {"r1"}
    assert [*rows[0]][: len(LINES)] == [*LINES]
    assert spelled(rows) == [
        '[0, "EWR", 1, 4, 20.0]',
        "[0, null, 1, 4, 30.0]",
        '[2, "JFK", 0, 2, 3650.0]',
    ]
    assert rows[0]["window_end"] == "1970-01-01T01:00:00.000000Z"
    assert rows[0]["records"] == 4


def test_which_run_is_live_may_be_said(pipeline: Path) -> None:
    (pipeline.parent / ".slackwater/runs/flight_delays/live.json").write_text('{"run": "r0"}')
    assert {row["run"] for row in answer("newest", "--json", pipeline)} == {"r0"}
    assert {row["run"] for row in answer("newest", "--json", pipeline, "--run", "r1")} == {"r1"}
    assert command("newest", pipeline, "--run", "r2").exit_code == 1


def test_the_runs_own_file_counts(pipeline: Path) -> None:
    pipeline.write_text(TEXT.replace("total: sum(delay)", "worst: max(delay)"), encoding="utf-8")
    assert "total" in answer("newest", "--json", pipeline, "--query", "hourly")[0]


def test_what_cannot_be_is_refused_in_a_sentence(pipeline: Path) -> None:
    output = pipeline.with_name("rows.parquet")
    for words, sentence in (
        (("--query", "deltas"), "add up the rows of a window"),
        (("--query", "daily"), "has no such query, but hourly, deltas"),
        (("--output", "rows.xlsx"), "we write .parquet, .csv, .jsonl"),
        (("--output", output, "--query", "hourly", "--query", "deltas"), "rows of one query"),
    ):
        assert sentence in refusal("newest", pipeline, *words)
    output.write_text("mine", encoding="utf-8")
    assert "is there already" in refusal(
        "newest", pipeline, "--query", "hourly", "--output", output
    )
    assert output.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_a_file_has_the_same_rows(pipeline: Path, ending: str) -> None:
    wanted = spelled(answer("newest", "--json", pipeline, "--query", "hourly"))
    output = pipeline.with_name(f"hourly.{ending}")
    words = ("newest", pipeline, "--query", "hourly", "--output", output, "--force")
    for _ in range(2):
        assert command(*words).exit_code == 0
    read = {"parquet": pl.read_parquet, "csv": pl.read_csv, "jsonl": pl.read_ndjson}[ending]
    assert spelled(read(output).rows(named=True)) == wanted
    assert command(*words, "--all").exit_code == 0
    assert len(read(output)) > len(wanted)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT, flags=re.DOTALL)


def lines_for_the_file() -> list[tuple[str, str]]:
    return re.findall(r"^\| (DuckDB|polars|pandas) \| `(.*)` \|$", DOCUMENT, flags=re.MULTILINE)


def as_rows(found: Any) -> list[dict[str, Any]]:
    if isinstance(found, duckdb.DuckDBPyRelation):
        found = found.pl()
    if not isinstance(found, pl.DataFrame):
        found = pl.from_pandas(found)
    rows: list[dict[str, Any]] = found.rows(named=True)
    return rows


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_each_line_of_the_document_reads_the_newest_rows(pipeline: Path) -> None:
    wanted = spelled(answer("newest", "--json", pipeline, "--query", "hourly"))
    command("newest", pipeline, "--query", "hourly", "--output", "hourly.parquet")
    given = lines_for_the_file()
    assert [tool for tool, _ in given] == ["DuckDB", "polars", "pandas"]
    for tool, line in given:
        module = __import__(tool.lower())
        assert spelled(as_rows(eval(line, {tool.lower(): module}))) == wanted, tool  # noqa: S307
    of_tables = [block for block in blocks("python") if "tables/flight_delays" in block]
    assert len(of_tables) == 3
    for block in of_tables:
        seen: dict[str, Any] = {}
        exec(block, seen)  # noqa: S102 - our own document
        assert spelled(as_rows(seen["newest"])) == wanted, block


def events(file: Path, log: Sequence[Entry]) -> None:
    from jobs.tools.recording import write_events

    write_events(file, log)


def test_the_lines_for_files_of_run_do_what_they_say(pipeline: Path) -> None:
    wanted = answer("newest", "--json", pipeline, "--query", "hourly")
    events(pipeline.with_name("events.jsonl"), log_of(RECORDS))
    run = command("run", pipeline, "--input", "events.jsonl", "--output", "out.jsonl")
    assert run.exit_code == 0, run.output
    (block,) = (block for block in blocks("python") if "out.jsonl" in block)
    seen: dict[str, Any] = {}
    exec(block, seen)  # noqa: S102
    rows = seen["newest"].rows(named=True)
    assert spelled([{**row, "origin": row["key"][0]} for row in rows]) == spelled(wanted)


def test_duplicates_are_removed_by_the_lines_that_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ids = ["a", "b", "a", None, None, "c", "b"]
    log = [
        entry({"source": "s", "partition": 0, "offset": at, "value": {"id": id_}})
        for at, id_ in enumerate(ids)
    ]
    log.append(entry({"source": "s", "partition": 0, "offset": 7, "control": {"end": True}}))
    events(tmp_path / "events.jsonl", log)
    (block,) = (block for block in blocks("python") if "once.jsonl" in block)
    exec(block, {})  # noqa: S102
    once = (tmp_path / "once.jsonl").read_text(encoding="utf-8").splitlines()
    kept = [json.loads(line)["offset"] for line in once]
    assert kept == [0, 1, 3, 4, 5, 7]


def documented(heading: str) -> set[str]:
    section = DOCUMENT.split(f"## Columns of {heading}\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.*?`) \|", section, flags=re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_every_column_of_every_table_is_documented() -> None:
    text = TEXT.replace(
        "RANGE 1 hour SLIDE 1 hour WATTR ts, group_by",
        "SESSION 1 hour WATTR ts, accumulation: retracting, group_by",
    )
    text = text.replace("delay: float", "delay: int")
    warns = "rules: [{name: NAME, check: delay < 900, on_fail: warn}]"
    text = text.replace("  disorder:", f"  where: delay IS NOT NULL\n  {warns}\n  disorder:")
    assert warns in text
    # What is taken back by a retraction there is taken back by a tombstone here.
    text = text.replace("{n: count}", "{flights: count}")
    text = text.replace("accumulation: discarding", "having: flights > 1")
    found = schemas(parse_pipeline(text))
    assert documented("a query's table") == {*found["hourly"].names, *found["deltas"].names}
    names = {
        *found["dead_letters"].names,
        *get_args(Reason),
        "after_end",
        "late",
        "out_of_retention",
    }
    # The cells of the reasons' table and of the columns'.
    assert names <= documented("`dead_letters`")
    assert documented("`metrics`") == {*found["metrics"].names}


def test_dead_letters_are_shown_by_reason(pipeline: Path) -> None:
    first, second = answer("dead", pipeline, "--json")
    assert (first["reason"], first["records"]) == ("bad_type", 4)
    assert first["share"] == pytest.approx(4 / 18)
    assert {one["field"] for one in first["examples"][:2]} == {"delay"}
    assert {one["value"] for one in first["examples"]} == {'"late"', "null"}
    assert (second["reason"], second["records"]) == ("malformed", 2)
    assert "rows.jsonl" not in second["do"]
    text = command("dead", pipeline, "--reason", "malformed").stdout
    assert "malformed: 2 records, 11.11% of 18 records read" in text
    assert 'flights/0 offset 8: "nothing" (a value is one JSON object in UTF-8)' in text
    assert "what to do: " in text


LATE = TEXT.replace("late: {policy: update, every: 1 hour}\nretention: 1 day\n", "").replace(
    "name: flight_delays", "name: late"
)


@pytest.mark.parametrize("more", ["", "late: {policy: update, every: 1 s}\nretention: 1 s\n"])
def test_what_came_too_late_is_shown_alike_of_tables_and_files(pipeline: Path, more: str) -> None:
    deployed = parse_pipeline(LATE + more)
    deploy(pipeline.parent / ".slackwater", "r1", log_of(RECORDS), deployed)
    pipeline.write_text(deployed.text, encoding="utf-8")
    events(pipeline.with_name("events.jsonl"), log_of(RECORDS))
    command("run", pipeline, "--input", "events.jsonl", "--output", "out.jsonl")
    of_tables = answer("dead", pipeline, "--json", "--examples", 99)
    assert of_tables[0]["reason"] == ("out_of_retention" if more else "late")
    assert {one["field"] for one in of_tables[0]["examples"]} == {"ts"}
    files = ("--output", "out.jsonl", "--input", "events.jsonl")
    of_files = answer("dead", pipeline, "--json", "--examples", 99, *files)
    for one in (*of_tables, *of_files):
        one["examples"].sort(key=str)
    assert of_files == of_tables


def test_dead_letters_of_files_are_judged_again(pipeline: Path) -> None:
    events(pipeline.with_name("events.jsonl"), log_of(RECORDS))
    command("run", pipeline, "--input", "events.jsonl", "--output", "out.jsonl")
    files = ("--output", "out.jsonl", "--input", "events.jsonl")
    assert answer("dead", pipeline, "--json", *files) == answer("dead", pipeline, "--json")
    there = "those that there are: bad_type, malformed"
    assert there in refusal("dead", pipeline, "--reason", "late", *files)
    assert "with --input" in refusal("dead", pipeline, "--output", "out.jsonl")


@pytest.mark.parametrize("reason", [*get_args(Reason), "after_end", "late", "out_of_retention"])
def test_there_is_a_way_out_of_every_reason(reason: str) -> None:
    (known,), (unknown,) = (
        by_reason([Letter("t", 0, 0, None, name)], None, 1) for name in (reason, "of tomorrow")
    )
    assert known.do != unknown.do


def test_examples_are_spread_over_fields() -> None:
    letters = [Letter("t", 0, at, None, "bad_type", field) for at, field in enumerate("aaab")]
    (one,) = by_reason(letters, None, 2)
    assert [example.field for example in one.examples] == ["a", "b"]
    assert (one.letters, one.share) == (4, None)


def test_without_dead_letters_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACKWATER_STATE_DIR", str(tmp_path))
    deploy(tmp_path, "r1", log_of(RECORDS)[:3])
    file = tmp_path / "p.yml"
    file.write_text(TEXT, encoding="utf-8")
    assert command("dead", file).stdout == "no dead letters of 3 records read\n"


def test_dead_letters_from_before_there_were_details_are_shown_and_appended_to(
    tmp_path: Path,
) -> None:
    old = schemas(P)["dead_letters"]
    for name in ("field", "value", "rule"):
        old = old.remove(old.get_field_index(name))
    letter = {"run": "r0", "source": "flights", "partition": 0, "offset": 7, "reason": "malformed"}
    place = tmp_path / "tables" / P.output
    write_deltalake(
        place / "dead_letters", pa.Table.from_pylist([letter], schema=old), partition_by=["run"]
    )
    deploy(tmp_path, "r1", log_of(RECORDS))
    assert letters_in(FolderReader(place, "r0"))[0] == [Letter("flights", 0, 7, None, "malformed")]
    assert {one.field for one in letters_in(FolderReader(place, "r1"))[0]} == {"delay", None}
    verdict = verify(P, iter(log_of(RECORDS)), read_tables(place, P, "r1"))
    assert verdict.ok, verdict.lines()
