"""Expectations on window outputs: one right output, and many that must be found guilty."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from chaos.quality import QualityError, QualityReport, read_block, validate
from chaos.quality.batches import RunTables
from chaos.quality.columns import column_names
from chaos.quality.frames import final
from chaos.quality.run import check
from chaos.readers.output import OutputError
from chaos.readers.table import TableColumns
from slackwater.main import app
from tests.strategies import Entry
from tests.unit.chaos.verdict.test_verify import Rows, write_tables
from windowing.model import Pipeline, PipelineError, load_pipeline, parse_pipeline
from windowing.semantics import evaluate

# Great Expectations is itself built on what its libraries deprecate.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ROOT = Path(__file__).parents[4]
HEAD = """\
name: p
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us, min: "1900-01-01", max: "2100-01-01"}
  fields: {k: "string?", x: "int?"}
  disorder: {slack: 5 us}
late: {policy: update, every: 5 us}
retention: 20 us
queries:
  w:
    window: RANGE 10 us SLIDE 10 us WATTR ts
    group_by: [k]
    aggregates: {n: count, records: sum(x), top: max(x)}
  all:
    window: RANGE 20 us SLIDE 20 us WATTR ts
    late: {policy: drop}
    aggregates: {n: count}
quality:
"""
BLOCK = """\
  - {query: w, expect_window_set_to_match_definition: {}}
  - {query: w, expect_revisions_to_rise_without_holes: {}}
  - {query: all, expect_window_set_to_match_definition: {}}
  - {query: all, expect_revisions_to_rise_without_holes:}
  - {expect_records_to_be_conserved: {}}
  - {query: all, expect_records_to_be_conserved: {severity: warning}}
  - {query: w, expect_column_values_to_be_between: {column: n, min_value: 1, max_value: 3}}
  - {query: w, revisions: all, expect_column_values_to_be_between: {column: values.records, max_value: 9007199254740994}}
  - query: w
    expect_column_values_to_be_between: {column: window_end, max_value: 1970-01-01T00:00:01Z}
  - {query: w, expect_column_values_to_be_between: {column: window_start, min_value: 1970-01-01}}
"""  # noqa: E501
UNUSUAL = """\
  - {expect_dead_records_to_be_few: {max_share: 0.12}}
  - {expect_late_records_to_be_few: {max_share: 0.23}}
"""
P = parse_pipeline(HEAD + BLOCK + UNUSUAL)
WINDOWS, REVISIONS, ALL_WINDOWS, ALL_REVISIONS, CONSERVED, ALL_CONSERVED = range(6)

BIG = 2**53 + 1  # no float holds it


def data(partition: int, offset: int, ts: int, k: str | None, x: int | None) -> Entry:
    value = json.dumps({"ts": ts, "k": k, "x": x}).encode()
    return Entry("s", partition, offset, value, None, None)


LOG = [
    data(0, 0, 1, "a", 1),
    data(0, 1, 3, None, None),
    data(0, 2, 24, "b", BIG),
    data(0, 3, 5, "a", 2),  # late
    data(0, 5, 40, "b", None),
    data(0, 6, 15, "c", 3),  # late, for a window that nothing was in time for
    data(0, 7, 6, "a", 3),  # too late
    Entry("s", 0, 8, b"poison", None, None),
    Entry("s", 0, 9, None, b'{"end":true}', None),
    data(1, 0, 12, "a", 7),
    Entry("s", 1, 1, None, b'{"end":true}', None),
]
OUTCOME = evaluate(P, LOG)

Spoil = Callable[[dict[str, Rows]], None]


def nothing(tables: dict[str, Rows]) -> None:
    """Leave everything as it is."""


def judge(folder: Path, spoil: Spoil = nothing, pipeline: Pipeline = P) -> QualityReport:
    write_tables(folder / "tables", P, OUTCOME, spoil=spoil)
    return check(pipeline, folder / "tables", "r1", iter(LOG), folder / "docs")


def test_the_history_has_everything_that_matters() -> None:
    assert [(r.query, r.window_id, r.key, r.revision, r.records) for r in OUTCOME.rows] == [
        ("all", 0, (), 0, 4),
        ("all", 1, (), 0, 1),
        ("all", 2, (), 0, 1),
        ("w", 0, (None,), 0, 1),
        ("w", 0, ("a",), 0, 1),
        ("w", 0, ("a",), 1, 2),
        ("w", 1, ("a",), 0, 1),
        ("w", 1, ("c",), 1, 1),
        ("w", 2, ("b",), 0, 1),
        ("w", 4, ("b",), 0, 1),
    ]
    assert [(d.query, d.reason) for d in OUTCOME.dead] == [
        ("w", "out_of_retention"),
        (None, "malformed"),
    ]


# --- the right output ------------------------------------------------------------------------


def test_the_right_output_is_acquitted_and_published(tmp_path: Path) -> None:
    said: list[str] = []
    write_tables(tmp_path / "tables", P, OUTCOME)
    write_tables(tmp_path / "tables", P, OUTCOME, run="r2")
    docs = tmp_path / "docs"
    report = check(P, tmp_path / "tables", "r1", iter(LOG), docs, progress=said.append)
    assert report.success, report.results
    assert [r.detail for r in report.results[:6]] == [
        "6 windows, 6 expected",
        "7 revisions of 6 windows",
        "3 windows, 3 expected",
        "3 revisions of 3 windows",
        "w: applied 7 + outside 0 + dropped 0 + dead 2 = 9, read 9; "
        "all: applied 6 + outside 0 + dropped 2 + dead 1 = 9, read 9",
        "all: applied 6 + outside 0 + dropped 2 + dead 1 = 9, read 9",
    ]
    *asked, default = [(r.query, r.expectation) for r in report.results]
    assert asked == [(c.query, c.expectation) for c in read_block(P)]
    assert default == ("w", "expect_sums_to_fit")
    assert said.count("evaluating the definition") == 1
    pages = report.docs_index.read_text(encoding="utf-8")
    assert pages.count("r1") > 0
    assert "r2" not in pages

    again = check(P, tmp_path / "tables", "r2", iter(LOG), docs)
    assert again.success
    pages = again.docs_index.read_text(encoding="utf-8")
    assert "r1" in pages
    assert "r2" in pages
    results = sorted((docs / "gx" / "uncommitted" / "validations").rglob("*.json"))
    judged = {"final-w", "revisions-w", "final-all", "revisions-all", "counts", "counts-all"}
    of_run = {(path.parts[-4], path.parts[-3]) for path in results}
    assert of_run == {(name, run) for name in judged for run in ("r1", "r2")}
    assert len(list((docs / "definition").iterdir())) == 2


def test_a_block_that_compares_nothing_with_the_log_reads_none(tmp_path: Path) -> None:
    def unread() -> Any:
        pytest.fail("the log was read")
        yield

    pipeline = parse_pipeline(HEAD + UNUSUAL)
    write_tables(tmp_path / "tables", P, OUTCOME)
    report = check(pipeline, tmp_path / "tables", "r1", unread(), tmp_path / "docs")
    assert report.success
    assert [result.detail for result in report.results] == [
        "w: 1 of 9 bad, 11.1%; all: 1 of 9 bad, 11.1%; at most 12.0%",
        "w: 1 of 9 late, 11.1%; all: 2 of 9 late, 22.2%; at most 23.0%",
        "0 of 6 rows have an aggregate that leaves int64, or fails",
    ]
    assert report.docs_index.is_file()


def test_columns_are_flat_and_a_name_that_is_taken_gets_a_prefix(tmp_path: Path) -> None:
    write_tables(tmp_path, P, OUTCOME)
    query = P.flows[0]
    rows = RunTables(TableColumns(P, tmp_path, "r1")).rows(query)
    assert [name for name in rows.columns if name != "overflow"] == column_names(query)
    assert column_names(query)[-4:] == ["k", "n", "values.records", "top"]
    late = rows[rows["window_id"].eq(0) & rows["k"].eq("a")]
    assert late["records"].tolist() == [1, 2]
    assert late["values.records"].tolist() == [1, 3]
    assert rows["top"].isna().tolist().count(True) == 2
    assert BIG in rows["top"].dropna().tolist()
    assert rows["window_end"].iloc[0] == pd.Timestamp(10, unit="us", tz="UTC")
    last = final(query, rows)
    assert len(last) == 6
    assert last[last["k"].eq("a") & last["window_id"].eq(0)]["revision"].tolist() == [1]


# --- guilty ----------------------------------------------------------------------------------


def lose_a_window(tables: dict[str, Rows]) -> None:
    tables["w"] = [row for row in tables["w"] if row["window_id"] != 2]


def lose_the_null_key(tables: dict[str, Rows]) -> None:
    tables["w"] = [row for row in tables["w"] if row["key"]["k"] is not None]


def lose_every_window(tables: dict[str, Rows]) -> None:
    tables["w"].clear()


def invent_a_window(tables: dict[str, Rows]) -> None:
    tables["all"].append(dict(tables["all"][0], window_id=77))


def change_a_key(tables: dict[str, Rows]) -> None:
    row = next(row for row in tables["w"] if row["key"]["k"] == "c")
    row["key"] = {"k": "d"}


def hole_in_the_middle(tables: dict[str, Rows]) -> None:
    row = next(row for row in tables["w"] if row["window_id"] == 0 and row["revision"] == 1)
    row["revision"] = 2


def begin_above_one(tables: dict[str, Rows]) -> None:
    row = next(row for row in tables["w"] if row["key"]["k"] == "c")
    row["revision"] = 2


def repeat_a_row(tables: dict[str, Rows]) -> None:
    tables["w"].append(dict(tables["w"][0], batch_id=1))


def repeat_with_other_values(tables: dict[str, Rows]) -> None:
    tables["all"].append(dict(tables["all"][0], records=99))


def late_without_being(tables: dict[str, Rows]) -> None:
    tables["w"][0]["pane"] = "late"


def full_though_late(tables: dict[str, Rows]) -> None:
    row = next(row for row in tables["w"] if row["revision"] == 1)
    row["pane"] = "full"


def negative_revision(tables: dict[str, Rows]) -> None:
    tables["all"][0] |= {"revision": -1, "pane": "late"}


def no_revision(tables: dict[str, Rows]) -> None:
    tables["all"][0]["revision"] = None


def one_applied_too_many(tables: dict[str, Rows]) -> None:
    tables["metrics"][0]["applied"] += 1


def one_read_too_few(tables: dict[str, Rows]) -> None:
    """The sum is right by itself; the independent reader saw one more."""
    row = next(row for row in tables["metrics"] if row["query"] == "all" and row["read"])
    row["read"] -= 1
    row["applied"] -= 1


def one_dead_letter_lost(tables: dict[str, Rows]) -> None:
    tables["dead_letters"].pop(0)


def one_bad_value_lost(tables: dict[str, Rows]) -> None:
    tables["dead_letters"].pop()


def a_batch_counted_twice(tables: dict[str, Rows]) -> None:
    tables["metrics"] += [dict(row, batch_id=2) for row in tables["metrics"]]


def no_counts(tables: dict[str, Rows]) -> None:
    tables["metrics"].clear()


GUILTY: list[tuple[Spoil, set[int], str]] = [
    (lose_a_window, {WINDOWS}, "5 windows, 6 expected; 1 missing, as (2, 'b')"),
    (lose_the_null_key, {WINDOWS}, "5 windows, 6 expected; 1 missing, as (0, None)"),
    (lose_every_window, {WINDOWS}, "0 windows, 6 expected; 6 missing"),
    (invent_a_window, {ALL_WINDOWS}, "4 windows, 3 expected; 1 unexpected, as (77,)"),
    (change_a_key, {WINDOWS}, "1 missing, as (1, 'c'); 1 unexpected, as (1, 'd')"),
    (hole_in_the_middle, {REVISIONS}, "1 windows with a hole in their revisions, as (0, 'a')"),
    (begin_above_one, {REVISIONS}, "1 windows with a hole in their revisions, as (1, 'c')"),
    (repeat_a_row, {REVISIONS}, "1 identities that stand more than once, as (0, None, 'full', 0)"),
    (repeat_with_other_values, {ALL_REVISIONS}, "1 identities that stand more than once"),
    (late_without_being, {REVISIONS}, "1 rows whose pane does not fit the revision"),
    (full_though_late, {REVISIONS}, "1 rows whose pane does not fit the revision"),
    (negative_revision, {ALL_REVISIONS}, "1 windows with a hole in their revisions, as (0,)"),
    (no_revision, {ALL_REVISIONS}, "1 rows whose pane does not fit the revision"),
    (one_applied_too_many, {CONSERVED}, "dead 2 = 10, read 9"),
    (one_read_too_few, {CONSERVED, ALL_CONSERVED}, "= 8, read 9, the run counted 8 read"),
    (one_dead_letter_lost, {CONSERVED}, "w: applied 7 + outside 0 + dropped 0 + dead 1 = 8"),
    (one_bad_value_lost, {CONSERVED, ALL_CONSERVED}, "+ dropped 2 + dead 0 = 8, read 9"),
    (a_batch_counted_twice, {CONSERVED, ALL_CONSERVED}, "the run counted 18 read"),
    (no_counts, {CONSERVED, ALL_CONSERVED}, "the run counted 0 read"),
]


@pytest.mark.parametrize(
    ("spoil", "broken", "words"), GUILTY, ids=[spoil.__name__ for spoil, _, _ in GUILTY]
)
def test_the_guilty_are_found(spoil: Spoil, broken: set[int], words: str, tmp_path: Path) -> None:
    report = judge(tmp_path, spoil)
    assert not report.success
    ours = report.results[: ALL_CONSERVED + 1]
    assert {at for at, result in enumerate(ours) if not result.success} == broken
    assert any(words in result.detail for result in ours if not result.success), ours


def test_built_in_expectations_can_fail_too(tmp_path: Path) -> None:
    block = """\
  - {query: w, expect_column_values_to_be_between: {column: n, min_value: 2}}
  - {query: w, revisions: all, expect_column_values_to_be_between: {column: n, min_value: 2}}
  - {query: all, expect_table_row_count_to_equal: {value: 4}}
  - {query: all, expect_column_values_to_be_in_set: {column: n, value_set: [1, 4]}}
"""
    report = judge(tmp_path, pipeline=parse_pipeline(HEAD + block + UNUSUAL))
    assert not report.success
    assert [(r.success, r.detail) for r in report.results[:4]] == [
        (False, "5 of 6 unexpected, as 1, 1, 1"),
        (False, "6 of 7 unexpected, as 1, 1, 1"),
        (False, "observed 3"),
        (True, "0 of 3 unexpected"),
    ]


def test_what_cannot_be_evaluated_has_failed(tmp_path: Path) -> None:
    block = "  - {query: w, expect_column_mean_to_be_between: {column: k, min_value: 1}}\n"
    report = judge(tmp_path, pipeline=parse_pipeline(HEAD + block))
    assert not report.success
    assert report.results[0].detail.startswith("could not be evaluated: ")


# --- the expectations in any suite -----------------------------------------------------------


def test_ours_work_in_a_suite_without_a_pipeline(tmp_path: Path) -> None:
    import great_expectations as gx

    from chaos.quality.expectations.records import ExpectRecordsToBeConserved
    from chaos.quality.expectations.revisions import ExpectRevisionsToRiseWithoutHoles
    from chaos.quality.expectations.windows import ExpectWindowSetToMatchDefinition

    frame = pd.DataFrame({"id": [1, 1, 2], "pane": ["full", "late", "full"], "revision": [0, 1, 0]})
    wanted = tmp_path / "windows.parquet"
    pd.DataFrame({"id": [1, 2]}).to_parquet(wanted)
    counts = pd.DataFrame(
        {"query": ["q"], "read": [3], "applied": [1], "outside": [1], "dropped": [0], "dead": [1]}
    )
    context = gx.get_context(mode="ephemeral")
    source = context.data_sources.add_pandas("frames")

    def met(rows: pd.DataFrame, expectation: Any) -> bool:
        name = f"a{len(source.assets)}"
        whole = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("whole")
        batch = whole.get_batch(batch_parameters={"dataframe": rows})
        return bool(batch.validate(expectation).success)

    windows = ExpectWindowSetToMatchDefinition(expected=str(wanted))
    revisions = ExpectRevisionsToRiseWithoutHoles(window_columns=["id"])
    assert met(frame, windows)
    assert not met(frame[:2], windows)
    assert met(frame, revisions)
    assert not met(frame.drop(columns="pane"), revisions)
    assert met(counts, ExpectRecordsToBeConserved(read=3))
    assert not met(counts, ExpectRecordsToBeConserved(read=4))
    assert not met(counts[:0], ExpectRecordsToBeConserved(read=0))


# --- mistakes --------------------------------------------------------------------------------

WRONG = [
    ("{expect_table_row_count_to_equal: {value: 1}}", "", "query is missing"),
    (
        "{query: v, expect_table_row_count_to_equal: {value: 1}}",
        ".query",
        "'v' is not a query of this pipeline: use one of w, all",
    ),
    ("{query: w}", "", "exactly one expectation, this one has none"),
    ("{query: w, expect_a: {}, expect_b: {}}", "", "this one has expect_a, expect_b"),
    ("{query: w, column: n}", ".column", "'column' is neither query, nor revisions"),
    ("{query: w, expect_column_to_exist: n}", ".expect_column_to_exist", "'n' are no arguments"),
    (
        "{query: w, revisions: last, expect_column_to_exist: {column: n}}",
        ".revisions",
        "'last' is not allowed: use final (the default) or all",
    ),
    (
        "{query: w, revisions: final, expect_revisions_to_rise_without_holes: {}}",
        ".revisions",
        "needs every revision",
    ),
    (
        "{revisions: all, expect_records_to_be_conserved: {}}",
        ".revisions",
        "judges counts, not rows",
    ),
    (
        "{query: w, expect_window_set_to_match_definition: {expected: x}}",
        ".expect_window_set_to_match_definition.expected",
        "comes from the pipeline and its log",
    ),
    (
        "{expect_records_to_be_conserved: {read: 1}}",
        ".expect_records_to_be_conserved.read",
        "comes from the pipeline and its log",
    ),
    (
        "{query: w, expect_column_values_to_not_be_null: {column: nn}}",
        ".expect_column_values_to_not_be_null.column",
        "'nn' is not a column of w: use one of run, ",
    ),
    (
        "{query: w, expect_compound_columns_to_be_unique: {column_list: [k, kk]}}",
        ".expect_compound_columns_to_be_unique.column_list",
        "'kk' is not a column of w",
    ),
    (
        "{query: w, expect_column_values_to_be_unique: {column: k, row_condition: 'n > 1'}}",
        ".expect_column_values_to_be_unique.row_condition",
        "cannot be set in a pipeline file",
    ),
]


@pytest.mark.parametrize(("entry", "field", "words"), WRONG)
def test_a_wrong_entry_is_named_without_great_expectations(
    entry: str, field: str, words: str
) -> None:
    pipeline = parse_pipeline(f"{HEAD}  - {entry}\n")
    with pytest.raises(PipelineError) as caught:
        read_block(pipeline, "p.yml")
    assert len(caught.value.problems) == 1
    problem = caught.value.problems[0]
    assert str(problem).startswith(f"p.yml:{HEAD.count(chr(10)) + 1}: quality.0{field}: ")
    assert words in problem.message


def test_names_and_arguments_that_great_expectations_does_not_know() -> None:
    block = """\
  - {query: w, expect_column_values_to_be_betwen: {column: n}}
  - {query: w, expect_column_values_to_be_between: {column: n, minimum: 1}}
  - {query: w, expect_column_values_to_be_between: {column: n, min_value: [3]}}
  - {query: w, expect_column_values_to_be_between: {column: n}}
"""
    with pytest.raises(PipelineError) as caught:
        validate(parse_pipeline(HEAD + block), "p.yml")
    first = HEAD.count("\n") + 1
    assert [problem.line for problem in caught.value.problems] == list(range(first, first + 4))
    messages = [problem.message for problem in caught.value.problems]
    assert "did you mean expect_column_values_to_be_between" in messages[0]
    assert messages[1].endswith("minimum (1): extra fields not permitted")
    assert "min_value ([3]): " in messages[2]
    assert messages[3].endswith("min_value and max_value cannot both be None")


def test_no_such_run_and_no_such_table(tmp_path: Path) -> None:
    write_tables(tmp_path / "tables", P, OUTCOME)
    with pytest.raises(OutputError, match="no run is called 'r9'; the tables hold: r1"):
        check(P, tmp_path / "tables", "r9", iter(LOG), tmp_path / "docs")
    with pytest.raises(OutputError, match="there is no Delta table"):
        check(P, tmp_path / "elsewhere", "r1", iter(LOG), tmp_path / "docs")
    assert not (tmp_path / "docs").exists()


def test_a_folder_that_cannot_hold_the_pages(tmp_path: Path) -> None:
    write_tables(tmp_path / "tables", P, OUTCOME)
    (tmp_path / "docs").write_text("a file", encoding="utf-8")
    with pytest.raises(QualityError, match=r"docs.*cannot"):
        check(P, tmp_path / "tables", "r1", iter(LOG), tmp_path / "docs")


def test_the_flights_expect_something_of_each_query() -> None:
    pipeline = load_pipeline(ROOT / "pipelines" / "flight_delays.yml")
    checks = validate(pipeline)
    ours = [c for c in checks if c.expectation.startswith(("expect_window", "expect_rev"))]
    assert sorted((c.query, c.expectation) for c in ours) == sorted(
        (query.name, name)
        for query in pipeline.flows
        for name in (
            "expect_window_set_to_match_definition",
            "expect_revisions_to_rise_without_holes",
        )
    )
    assert any(c.expectation == "expect_records_to_be_conserved" for c in checks)


def test_importing_the_package_does_not_import_great_expectations() -> None:
    code = "import sys, chaos.quality; sys.exit('great_expectations' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


# --- validate says so before anything runs ---------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("expect_column_values_to_be_betwen: {column: n, min_value: 1}", "did you mean expect_"),
        ("expect_column_values_to_be_between: {column: n, min_valu: 1}", "extra fields not perm"),
        ("expect_column_values_to_be_between: {column: n, min_value: [1]}", "not a valid float"),
        ("expect_column_values_to_be_between: {column: n, min_value: 5, max_value: 1}", "nothing"),
        ("expect_column_values_to_match_regex: {column: k, regex: '('}", "no regular expression"),
        ("expect_column_values_to_be_in_set: {column: n, value_set: 5}", "not a valid list"),
        ("garbage: {}", "which begins with expect_"),
    ],
)
def test_validate_names_garbage_in_quality(tmp_path: Path, entry: str, said: str) -> None:
    path = tmp_path / "p.yml"
    path.write_text(f"{HEAD}  - {{query: w, {entry}}}\n")
    answer = CliRunner().invoke(app, ["validate", str(path)])
    assert answer.exit_code != 0
    assert isinstance(answer.exception, PipelineError)
    assert said in str(answer.exception)
    assert str(answer.exception).startswith(f"{path}:21: quality.0")
