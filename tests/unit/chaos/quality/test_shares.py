"""Few records are bad, and few come too late: expected of every query, though nobody writes it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from typer.testing import CliRunner

from chaos.quality import QualityReport, read_block, validate
from chaos.quality.batches import RunLines, RunTables
from chaos.quality.block import SHARE_MAX, with_defaults
from chaos.quality.run import check
from chaos.readers.output import read_files
from chaos.readers.table import TableColumns
from jobs.tools.recording import write_events
from slackwater.main import app
from tests.strategies import Entry
from tests.unit.chaos.verdict.test_verify import write_tables
from windowing.model import Pipeline, PipelineError, parse_pipeline
from windowing.semantics import evaluate

# Great Expectations is itself built on what its libraries deprecate.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

HEAD = """\
name: p
source:
  {topic: s, partitions: 1, format: json, fields: {}, disorder: ordered,
   event_time: {field: ts, unit: us, min: "1900-01-01", max: "2100-01-01"}}
late: {policy: LATE}
queries:
  w: {window: RANGE 10 us SLIDE 10 us WATTR ts, aggregates: {n: count}}
  v: {window: RANGE 20 us SLIDE 20 us WATTR ts, aggregates: {n: count}}
"""


def pipeline(block: str = "", late: str = "dead_letter") -> Pipeline:
    return parse_pipeline(HEAD.replace("LATE", late) + (f"quality: [{block}]\n" if block else ""))


def log(good: int, bad: int = 0, late: int = 0) -> list[Entry]:
    values = [f'{{"ts":{100 * number}}}' for number in range(good)]
    values += ['{"ts":0}'] * late + ["no JSON"] * bad
    entries = [Entry("s", 0, n, text.encode(), None, None) for n, text in enumerate(values)]
    return [*entries, Entry("s", 0, len(values), None, b'{"end":true}', None)]


def judged(
    folder: Path, entries: list[Entry], block: str = "", late: str = "dead_letter"
) -> QualityReport:
    spec = pipeline(block, late)
    write_tables(folder / "tables", spec, evaluate(spec, entries))
    return check(spec, folder / "tables", "r1", iter(entries), folder / "docs")


def verdicts(report: QualityReport) -> dict[str, bool]:
    return {result.expectation.split("_")[1]: result.success for result in report.results}


def test_a_log_of_which_a_third_is_dead_is_not_well(tmp_path: Path) -> None:
    """It was: 38 % of the records in the dead letters, and every check ok."""
    report = judged(tmp_path, log(good=62, bad=38))
    assert not report.success
    assert verdicts(report) == {"dead": False, "late": True}
    assert report.results[0].detail == (
        "w: 38 of 100 bad, 38.0%; v: 38 of 100 bad, 38.0%; at most 10.0%"
    )


@pytest.mark.parametrize("policy", ["dead_letter", "drop"])
def test_a_log_of_which_a_third_comes_too_late_is_not_well(tmp_path: Path, policy: str) -> None:
    report = judged(tmp_path, log(good=62, late=38), late=policy)
    assert verdicts(report) == {"dead": True, "late": False}
    assert "w: 38 of 100 late, 38.0%" in report.results[1].detail


def test_what_is_usual_is_well(tmp_path: Path) -> None:
    assert SHARE_MAX == 0.1
    assert judged(tmp_path, log(good=80, bad=10, late=10)).success


def test_a_file_says_other_shares_or_none(tmp_path: Path) -> None:
    dead = "{expect_dead_records_to_be_few: {max_share: 1}}"
    late = "{query: w, expect_late_records_to_be_few: {max_share: 0.01}}"
    report = judged(tmp_path, log(good=60, bad=38, late=2), f"{dead}, {late}")
    assert [(r.query, r.success) for r in report.results] == [
        (None, True),
        ("w", False),
        ("v", True),  # what the file says nothing of, is as it was
    ]


def test_an_empty_log_has_nothing_bad(tmp_path: Path) -> None:
    assert judged(tmp_path, log(good=1)).success
    spec = pipeline()
    assert [c.query for c in with_defaults(spec, read_block(spec))] == [None, None]


@pytest.mark.parametrize("share", ["2", "-0.1", "'much'"])
def test_a_share_lies_between_none_and_all(share: str) -> None:
    with pytest.raises(PipelineError, match="max_share"):
        validate(pipeline(f"{{expect_dead_records_to_be_few: {{max_share: {share}}}}}"))


def test_what_run_wrote_into_a_file_is_judged_alike(tmp_path: Path) -> None:
    """By the command, and on the frames that the tables give."""
    spec, entries = pipeline(), log(good=62, bad=38)
    (tmp_path / "p.yml").write_text(spec.text)
    write_events(tmp_path / "events.jsonl", entries)
    files = ["--input", str(tmp_path / "events.jsonl"), "--output", str(tmp_path / "out.jsonl")]
    done = CliRunner().invoke(app, ["run", str(tmp_path / "p.yml"), *files])
    assert done.exit_code == 0, done.output
    write_tables(tmp_path / "tables", spec, evaluate(spec, entries))
    tables = RunTables(TableColumns(spec, tmp_path / "tables", "r1"))
    written = RunLines(read_files(tmp_path / "out.jsonl"), spec, entries)
    names = [query.name for query in spec.flows]
    assert_frame_equal(written.counts(names), tables.counts(names), check_dtype=False)
    for query in spec.flows:
        mine, theirs = (
            one.rows(query).drop(columns=["run", "batch_id"]).sort_values("window_id")
            for one in (written, tables)
        )
        assert_frame_equal(mine.reset_index(drop=True), theirs.reset_index(drop=True))
    assert written.size() == tables.size()
    answer = CliRunner().invoke(app, ["quality", str(tmp_path / "p.yml"), *files])
    assert answer.exit_code == 1
    assert "FAIL -" in answer.output
    assert "38 of 100 bad, 38.0%" in answer.output
    assert (tmp_path / "out.quality").is_dir()
    answer = CliRunner().invoke(app, ["quality", str(tmp_path / "p.yml"), *files[:2]])
    assert answer.exit_code == 2


REPORTS = Path("tests/data/reports")


@pytest.mark.parametrize(
    ("case", "fits"), [("epoch_unit_ms_as_s", "ms"), ("epoch_unit_s_as_ms", "s")]
)
@pytest.mark.parametrize("end", [[], ["--end"]], ids=["open", "ended"])
def test_times_in_another_unit_are_not_well(
    tmp_path: Path, case: str, fits: str, end: list[str]
) -> None:
    """They were: every check ok, with windows in January 1970, or without any."""
    file, events = (str(REPORTS / case / name) for name in ("pipeline.yml", "events.jsonl"))
    files = [file, "--input", events, "--output", str(tmp_path / "out.jsonl")]
    assert CliRunner().invoke(app, ["run", *files, *end]).exit_code == 0
    answer = CliRunner().invoke(app, ["quality", *files])
    assert answer.exit_code == 1
    [line] = [line for line in answer.output.splitlines() if line.startswith("FAIL")]
    assert "w            expect_event_times_to_be_plausible" in line
    assert f"the unit that fits is {fits}" in line


@pytest.mark.parametrize(
    ("limits", "block", "on"),
    [
        ("", "", ["w", "v"]),
        (', min: "1975-01-01", max: "2100-01-01"', "", ["w", "v"]),
        (', min: "1970-01-01"', "", ["w", "v"]),  # the future is still judged
        (', min: "1970-01-01", max: "2090-01-01"', "", []),
        (', min: "2000-01-01", max: "2200-01-01"', "", []),
        ("", "{query: w, expect_event_times_to_be_plausible: {max_share: 1}}", ["v"]),
    ],
)
def test_where_times_are_judged_by_default(limits: str, block: str, on: list[str]) -> None:
    text = HEAD.replace("LATE", "drop").replace(', min: "1900-01-01", max: "2100-01-01"', limits)
    spec = parse_pipeline(text + (f"quality: [{block}]\n" if block else ""))
    added = with_defaults(spec, [])[2:] if not block else with_defaults(spec, read_block(spec))[3:]
    assert [check.query for check in added] == on
    assert {check.expectation for check in added} <= {"expect_event_times_to_be_plausible"}


@pytest.mark.parametrize(
    ("limits", "years"),
    [
        ("", (1975, 2100)),
        (', min: "1960-01-01"', (1960, 2100)),
        (', min: "2000-01-01", max: "2200-01-01"', (1975, 2200)),
        (', min: "1980-01-01", max: "2090-01-01"', (1975, 2100)),
    ],
)
def test_limits_widen_what_is_plausible_and_narrow_nothing(
    limits: str, years: tuple[int, int]
) -> None:
    text = HEAD.replace("LATE", "drop").replace(', min: "1900-01-01", max: "2100-01-01"', limits)
    found = parse_pipeline(text).source.event_time.plausible_us
    assert found == tuple(pd.Timestamp(f"{year}-01-01", tz="UTC").value // 1000 for year in years)
