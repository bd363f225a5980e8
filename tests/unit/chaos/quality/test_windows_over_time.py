"""Completeness, freshness, revision churn and drift: tables of right and wrong frames."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.quality import QualityReport, read_block, validate
from chaos.quality.expectation import COMPLETE, EXPECTATIONS, FEW_REVISED, FRESH, STEADY
from chaos.quality.numbers import periods_of
from chaos.quality.run import check
from tests.strategies import Entry
from tests.unit.chaos.verdict.test_verify import Rows, write_tables
from windowing.model import PipelineError, parse_pipeline
from windowing.model.zones import installed_zone
from windowing.semantics import evaluate

# Great Expectations is itself built on what its libraries deprecate.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def made(name: str, **arguments: Any) -> Any:
    """Make an expectation as a suite of no pipeline does."""
    from chaos.quality import suites  # registers them; its libraries warn when imported

    del suites
    return EXPECTATIONS[name](**arguments)


T0 = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def found() -> Any:
    """Judges a frame by an expectation in a suite of no pipeline."""
    import great_expectations as gx

    context = gx.get_context(mode="ephemeral")
    source = context.data_sources.add_pandas("frames")

    def judge(rows: pd.DataFrame, expectation: Any) -> tuple[bool, str]:
        name = f"a{len(source.assets)}"
        whole = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("whole")
        batch = whole.get_batch(batch_parameters={"dataframe": rows})
        result = batch.validate(expectation)
        return bool(result.success), str(result.result.get("observed_value"))

    return judge


# --- completeness ----------------------------------------------------------------------------


def numbered(*numbers: int, k: list[str | None] | None = None) -> pd.DataFrame:
    return pd.DataFrame({"window_id": numbers, "k": k or ["a"] * len(numbers)})


# Hours of days of Berlin: 48 numbers each, and 24 windows; on day 20541, 2026-03-29, there are 23.
HOURS = {
    "unit": "day",
    "zone": "Europe/Berlin",
    "table": installed_zone("Europe/Berlin").spelled,
    "origin_us": 0,
    "slide_us": 3_600_000_000,
    "numbers": 48,
}
DAYS = [[day * 48 + hour for hour in range(24)] for day in (20540, 20541, 20542)]
DAYS[1].pop()
ALL = [hour for day in DAYS for hour in day]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (ALL, (True, "0 of 71 windows missing")),
        (ALL[5:-5], (True, "0 of 61 windows missing")),
        ([*DAYS[0], *DAYS[1][1:]], (False, f"1 of 47 windows missing, as ({DAYS[1][0]},)")),
        ([*DAYS[0][:-1], *DAYS[1]], (False, f"1 of 47 windows missing, as ({DAYS[0][-1]},)")),
        ([*DAYS[0], *DAYS[2]], (False, "23 of 71 windows missing")),
    ],
)
def test_numbers_that_a_local_day_leaves_over_are_not_missing(
    found: Any, numbers: list[int], expected: tuple[bool, str]
) -> None:
    met, text = found(numbered(*numbers), made(COMPLETE, periods=HOURS))
    assert (met, text[: len(expected[1])]) == expected


def test_a_pipeline_says_how_its_windows_are_numbered() -> None:
    for zone, numbers in (("ZONE Europe/Berlin", HOURS), ("", None)):
        window = f"RANGE CUMULATE 1 day SLIDE 1 hour WATTR ts {zone}"
        text = f"""
name: p
source: {{topic: s, partitions: 1, format: json, event_time: {{field: ts, unit: us}}, fields: {{}},
  disorder: ordered}}
queries: {{w: {{window: {window}, aggregates: {{n: count}}}}}}
"""
        (query,) = parse_pipeline(text).flows
        assert periods_of(query) == numbers


@pytest.mark.parametrize(
    ("numbers", "keys", "arguments", "expected"),
    [
        ((4, 5, 6), "aaa", {}, (True, "0 of 3 windows missing; at most 0.0%")),
        ((6, 4, 5, 5), "aaab", {}, (True, "0 of 3 windows missing")),
        ((), "", {}, (True, "0 of 0 windows missing")),
        ((4, 6), "aa", {}, (False, "1 of 3 windows missing, as (5,)")),
        ((4, 5, 6), "aba", {}, (True, "0 of 3")),
        ((4, 5, 6), "aba", {"per": ["k"]}, (False, "1 of 4 windows missing, as ('a', 5)")),
        ((0, 9), "aa", {"max_share": 0.8}, (True, "8 of 10")),
        ((0, 9), "aa", {"max_share": 0.79}, (False, "8 of 10")),
        ((0, 7, 8, 9), "aaaa", {"last": 3}, (True, "0 of 3")),
        ((0, 8, 9), "aaa", {"last": 3}, (False, "1 of 3 windows missing, as (7,)")),
    ],
)
def test_windows_without_a_row_are_counted(
    found: Any,
    numbers: tuple[int, ...],
    keys: str,
    arguments: dict[str, Any],
    expected: tuple[bool, str],
) -> None:
    frame = numbered(*numbers, k=list(keys))
    result = found(frame, made(COMPLETE, **arguments))
    assert result[0] is expected[0], result
    assert expected[1] in result[1]


@given(st.sets(st.integers(-40, 40)), st.none() | st.integers(1, 20))
def test_the_holes_are_the_numbers_between_that_are_not_there(
    numbers: set[int], last: int | None
) -> None:
    from chaos.quality.expectations.windows import ExpectWindowsToBeComplete

    there = ExpectWindowsToBeComplete.measure(numbered(*numbers), [], last)
    span = set(range(min(numbers), max(numbers) + 1)) if numbers else set()
    span = set(sorted(span)[-last:]) if last else span
    assert there["windows"] == len(span)
    assert there["missing_count"] == len(span - numbers)
    wanted = sorted(span - numbers)[:20]
    assert [one["window_id"] for one in there["missing"]] == wanted


# --- freshness -------------------------------------------------------------------------------


def ending(*ends: datetime) -> pd.DataFrame:
    return pd.DataFrame({"window_end": pd.Series(ends, dtype="datetime64[us, UTC]")})


def test_the_newest_window_has_an_age(found: Any) -> None:
    frame = ending(T0, T0 - timedelta(days=9))
    at = (T0 + timedelta(hours=2)).isoformat()
    exactly = made(FRESH, max_age="2 hours", reference=at)
    less = made(FRESH, max_age="119 minutes", reference=at)
    assert found(frame, exactly) == (
        True,
        "newest window ends at 2026-01-01T00:00:00+00:00, 2:00:00 behind the log; at most 2:00:00",
    )
    assert not found(frame, less)[0]
    assert found(ending(), exactly) == (False, "no window at all")


def test_the_clock_is_asked_when_the_check_is_made(found: Any) -> None:
    fresh = made(FRESH, max_age="1 hour", relative_to="clock")
    now = datetime.now(UTC)
    assert found(ending(now - timedelta(minutes=30)), fresh)[0]
    assert not found(ending(now - timedelta(minutes=61)), fresh)[0]


# --- revision churn --------------------------------------------------------------------------


def revised(*revisions: tuple[int, str, int]) -> pd.DataFrame:
    frame = pd.DataFrame(revisions, columns=["window_id", "k", "revision"])
    return frame.assign(window_end=pd.to_datetime(frame["window_id"], unit="h", utc=True))


RARE = revised((0, "a", 0), (0, "a", 1), (0, "a", 2), (0, "b", 0), (1, "a", 0), (2, "a", 1))


@pytest.mark.parametrize(
    ("arguments", "success"),
    [
        ({"max_share": 0.5}, True),
        ({"max_share": 0.49}, False),
        ({"max_mean": 0.75}, True),
        ({"max_mean": 0.74}, False),
        ({"max_share": 0.5, "max_mean": 0.74}, False),
        ({"max_share": 0.5, "last": 2}, True),
        ({"max_share": 0.5, "last": 1}, False),
    ],
)
def test_revisions_are_bounded(found: Any, arguments: dict[str, Any], success: bool) -> None:
    """Of four windows two were revised, three times in all."""
    few = made(FEW_REVISED, window_columns=["window_id", "k"], **arguments)
    result = found(RARE, few)
    assert result[0] is success, result
    if "last" not in arguments:
        assert result[1] == "2 of 4 windows revised, 50.0%; 0.75 revisions per window"


def test_a_row_that_is_stored_twice_is_one_revision() -> None:
    from chaos.quality.expectations.revisions import ExpectRevisionsToBeFew

    count, columns = ExpectRevisionsToBeFew.measure, ["window_id", "k"]
    assert count(pd.concat([RARE, RARE]), columns, None) == count(RARE, columns, None)


# --- drift -----------------------------------------------------------------------------------


def valued(values: list[float | None], k: str = "a") -> pd.DataFrame:
    ends = pd.to_datetime(range(len(values)), unit="h", utc=True)
    return pd.DataFrame({"window_end": ends, "k": k, "n": pd.array(values, dtype="Float64")})


STEP: list[float | None] = [10, 11, 9, 10, 30, 30]


@pytest.mark.parametrize(
    ("values", "arguments", "success", "text"),
    [
        (STEP[:4], {"max_change": 1}, True, "0 of 1 windows drifted"),
        (STEP, {"max_change": 20}, True, "0 of 3"),
        (STEP, {"max_change": 19}, False, "2 of 3 windows drifted, most at 1970-01-01 04"),
        (STEP, {"max_ratio": 2}, True, "0 of 3"),
        (STEP, {"max_ratio": 1.9}, False, "2 of 3"),
        (STEP, {"max_ratio": 1.9, "mostly": 0.3}, True, "2 of 3"),
        (STEP, {"max_change": 1, "last": 1}, False, "1 of 1"),
        ([*STEP, 30, 30], {"max_change": 1, "last": 1}, True, "0 of 1"),
        ([1, 2, 3], {"max_change": 0}, True, "3 windows, too few to compare"),
        ([5, None, 5, 5, 5], {"max_change": 0}, True, "0 of 1"),
        ([0, 0, 0, 1], {"max_ratio": 9}, False, "1 of 1"),
        ([1, 1, 1, float("inf")], {"max_change": 9}, False, "1 of 1"),
        ([float("inf")] * 4, {"max_change": 9}, False, "1 of 1"),
    ],
)
def test_a_value_is_compared_with_the_windows_before(
    found: Any, values: list[float | None], arguments: dict[str, Any], success: bool, text: str
) -> None:
    steady = made(STEADY, column="n", previous=3, **arguments)
    result = found(valued(values), steady)
    assert result[0] is success, result
    assert text in result[1]


def test_keys_are_one_window_or_series_of_their_own(found: Any) -> None:
    """Without `per`, the median over the keys hides what happens to one of three."""
    frame = pd.concat([valued([1, 1, 1]), valued([1, 1, 1], "b"), valued([1, 1, 9], "c")])
    together = made(STEADY, column="n", previous=2, max_change=1)
    apart = made(STEADY, column="n", previous=2, max_change=1, per=["k"])
    assert found(frame, together) == (True, "0 of 1 windows drifted")
    drift = found(frame, apart)
    assert drift[0] is False
    assert drift[1].startswith("1 of 3 windows drifted, most at 1970-01-01 02:00:00+00:00: 9 after")


def test_text_does_not_drift(found: Any) -> None:
    steady = made(STEADY, column="k", previous=2, max_change=1)
    assert not found(valued([1, 1, 1]), steady)[0]


# --- in a pipeline file ----------------------------------------------------------------------

HEAD = """\
name: p
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us, min: "1900-01-01", max: "2100-01-01"}
  fields: {k: "string?", x: "int?"}
  disorder: {slack: 0 us}
late: {policy: update, every: 5 us}
retention: 50 us
queries:
  w: {window: RANGE 10 us SLIDE 10 us WATTR ts, aggregates: {n: count}}
  rows:
    window: RANGE 2 rows SLIDE 2 rows WATTR row_num ORDER event_time
    late: {policy: drop}
    aggregates: {n: count}
  sessions: {window: SESSION 5 us WATTR ts, aggregates: {n: count}}
quality:
  - {expect_late_records_to_be_few: {max_share: 1}}
"""
BLOCK = """\
  - {query: w, expect_windows_to_be_complete: {last: 50}}
  - {query: w, expect_newest_window_to_be_fresh: {max_age: 15 us}}
  - {query: w, expect_revisions_to_be_few: {max_share: 0.15, max_mean: 0.15}}
  - {query: w, expect_window_values_to_be_steady: {column: n, previous: 2, max_change: 1}}
"""


def log(times: list[int], *, ends: bool = False) -> list[Entry]:
    """A log of two lanes, the second of which is at most ten behind."""
    first = [json.dumps({"ts": ts, "k": "a", "x": 1}).encode() for ts in times]
    second = json.dumps({"ts": max(times) - 10, "k": None, "x": None}).encode()
    entries = [Entry("s", 0, n, value, None, None) for n, value in enumerate(first)]
    entries.append(Entry("s", 1, 0, second, None, None))
    end = b'{"end":true}'
    return entries + [Entry("s", at, 99, None, end, None) for at in (0, 1) if ends]


def judged(folder: Path, entries: list[Entry], spoil: Any = lambda tables: None) -> QualityReport:
    queries = HEAD.index("  rows:"), HEAD.index("quality:")
    spec = parse_pipeline(HEAD[: queries[0]] + HEAD[queries[1] :] + BLOCK)
    write_tables(folder / "tables", spec, evaluate(spec, entries), spoil=spoil)
    return check(spec, folder / "tables", "r1", iter(entries), folder / "docs")


def lose_the_newest(tables: dict[str, Rows]) -> None:
    ordered = sorted(tables["w"], key=lambda row: row["window_id"])
    tables["w"] = ordered[:-2]


def lose_one_between(tables: dict[str, Rows]) -> None:
    tables["w"] = [row for row in tables["w"] if row["window_id"] != 5]


def lose_all(tables: dict[str, Rows]) -> None:
    tables["w"].clear()


EVEN = [10 * n + 5 for n in range(12)]


@pytest.mark.parametrize(
    ("entries", "spoil", "broken"),
    [
        (log(EVEN), None, set()),
        (log(EVEN, ends=True), None, set()),
        (log([0, 3]), None, set()),  # nothing is due
        (log(EVEN), lose_one_between, {1}),
        (log(EVEN), lose_the_newest, {2}),
        (log(EVEN, ends=True), lose_the_newest, {2}),
        (log(EVEN), lose_all, {2}),
        (log([t for t in EVEN if t != 55]), None, {1}),  # an empty stretch is a hole
        (log([*EVEN, *(t - 20 for t in EVEN[6:10])], ends=True), None, {3}),
        (log([*EVEN[:9], 96, 97, 98, 99, *EVEN[9:]]), None, {4}),
    ],
)
def test_they_are_judged_by_the_log(
    tmp_path: Path, entries: list[Entry], spoil: Any, broken: set[int]
) -> None:
    report = judged(tmp_path, entries, spoil or (lambda tables: None))
    wrong = {at for at, one in enumerate(report.results) if not one.success}
    assert wrong == broken, report.results


def test_a_silent_lane_makes_results_old(tmp_path: Path) -> None:
    """It holds the windows back, so that the lane ahead shows how far they trail."""
    entries = [one for one in log(EVEN) if one.partition == 0]
    late = Entry("s", 1, 0, json.dumps({"ts": 20, "k": "a", "x": 1}).encode(), None, None)
    report = judged(tmp_path, [*entries, late])
    assert [one.success for one in report.results[1:3]] == [True, False]
    assert "0:00:00.000095 behind the log" in report.results[2].detail


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("{query: rows, expect_newest_window_to_be_fresh: {max_age: 1 h}}", "have no age"),
        ("{query: sessions, expect_windows_to_be_complete: {}}", "not numbered in a row"),
        ("{query: w, expect_windows_to_be_complete: {per: [kk]}}", "'kk' is not a column"),
        ("{query: w, expect_window_values_to_be_steady: {column: z}}", "'z' is not a column"),
        ("{query: w, revisions: final, expect_revisions_to_be_few: {}}", "needs every revision"),
        (
            "{query: w, expect_newest_window_to_be_fresh: {max_age: 1 h, reference: x}}",
            "comes from the pipeline and its log",
        ),
    ],
)
def test_what_makes_no_sense_for_a_query_is_refused(entry: str, words: str) -> None:
    with pytest.raises(PipelineError, match=words):
        read_block(parse_pipeline(f"{HEAD}  - {entry}\n"))


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("expect_newest_window_to_be_fresh: {}", "max_age: field required"),
        ("expect_newest_window_to_be_fresh: {max_age: soon}", "max_age"),
        ("expect_newest_window_to_be_fresh: {max_age: 1 h, relative_to: moon}", "relative_to"),
        ("expect_windows_to_be_complete: {max_share: 2}", "max_share"),
        ("expect_revisions_to_be_few: {}", "give max_share"),
        ("expect_window_values_to_be_steady: {column: n}", "give either"),
        ("expect_window_values_to_be_steady: {column: n, max_change: 1, max_ratio: 1}", "give eit"),
    ],
)
def test_wrong_arguments_are_named(entry: str, words: str) -> None:
    with pytest.raises(PipelineError, match=words):
        validate(parse_pipeline(f"{HEAD}  - {{query: w, {entry}}}\n"))


def test_row_windows_can_be_complete() -> None:
    validate(parse_pipeline(HEAD + "  - {query: rows, expect_windows_to_be_complete: {}}\n"))
