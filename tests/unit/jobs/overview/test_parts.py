"""Parts of an overview: buckets of histories, the light of an output, and the files it reads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.overview.buckets import KEPT_MAX, SECOND_US, beginnings, common_width, of_times
from jobs.overview.judgements import checks_of, over_time, quality_of, verdicts_of
from jobs.overview.light import NEVER_RUN, Facts, light, spell_s, worst
from jobs.overview.metrics_file import EARLIER_FILE, FILE, measured
from jobs.overview.schema import CheckOutcome, Light, Overview
from jobs.runs.folder import Run
from jobs.runs.verdicts import Judge, Verdict, audits_file, keep_verdict, note_verdict
from tests.unit.test_tidy import ROOT

YEAR_US = 8_766 * 3600 * SECOND_US
EVENTS = st.lists(
    st.tuples(st.integers(0, 30 * YEAR_US), st.tuples(st.integers(0, 9), st.integers(0, 9))),
    max_size=40,
)


@given(EVENTS, EVENTS, st.integers(1, 300))
def test_what_is_counted_stays_where_it_was_whatever_the_order(
    some: list[tuple[int, tuple[int, int]]], more: list[tuple[int, tuple[int, int]]], most: int
) -> None:
    whole, parts, rest = of_times(some + more), of_times(more), of_times(some)
    parts.merge(rest)
    width = common_width([whole, parts], most)
    shown = whole.widened(width)
    assert parts.widened(width) == shown
    expected: dict[int, list[int]] = {}
    for at_us, counts in some + more:
        held = expected.setdefault(at_us // width * width, [0, 0])
        held[:] = [a + b for a, b in zip(held, counts, strict=True)]
    assert shown == expected
    starts = list(beginnings([whole, parts], width))
    assert set(shown) <= set(starts)
    assert len(starts) <= most
    assert len(whole.counts) <= KEPT_MAX


def test_a_short_life_has_buckets_of_a_second() -> None:
    found = of_times([(5 * SECOND_US + 7, [1]), (9 * SECOND_US, [2])])
    assert common_width([found], 200) == SECOND_US
    assert found.widened(SECOND_US) == {5 * SECOND_US: [1], 9 * SECOND_US: [2]}
    assert len(list(beginnings([found], SECOND_US))) == 5


GOOD = CheckOutcome(at="2026-11-23T17:00:00Z", passed=True, sentence="all is well")
BAD = CheckOutcome(at="2026-11-23T17:00:00Z", passed=False, sentence="lost 1")
ALL_WELL = Facts(state="running", quality=GOOD, proof=GOOD, proof_age_s=60.0)
HOUR = 3600.0


@pytest.mark.parametrize(
    ("change", "colour", "said"),
    [
        ({}, "green", "verified 1 min ago"),
        ({"state": "finished"}, "green", "verified"),
        ({"state": None}, "grey", NEVER_RUN),
        ({"state": None, "quality": BAD}, "grey", NEVER_RUN),
        ({"state": "failed", "why": "no such topic"}, "red", "its job has failed: no such topic"),
        ({"state": "restarting"}, "yellow", "restarted"),
        ({"state": "waiting"}, "yellow", "room"),
        ({"state": "submitted"}, "yellow", "first|a batch"),
        ({"state": "stopping"}, "yellow", "being stopped"),
        ({"state": "stopped"}, "yellow", "is stopped"),
        ({"state": "superseded"}, "yellow", "another run"),
        ({"unreadable": "its table cannot be read"}, "yellow", "table"),
        ({"quality": None}, "yellow", "never been checked"),
        ({"quality": BAD}, "red", "an expectation does not hold: lost 1"),
        ({"proof": None, "proof_age_s": None}, "yellow", "never been verified"),
        ({"proof": BAD}, "red", "the last verification has failed: lost 1"),
        ({"proof_age_s": 24 * HOUR}, "green", "verified"),
        ({"proof_age_s": 24 * HOUR + 1}, "yellow", "last verified 1 d ago"),
        ({"waits_for": "a/0", "lag_s": None}, "yellow", "a/0, without progress"),
        ({"waits_for": "a/0", "lag_s": HOUR}, "green", "verified"),
        ({"waits_for": "a/0", "lag_s": HOUR + 60}, "yellow", "a/0, 1 h 1 min behind"),
        ({"waits_for": "a/0", "lag_s": HOUR + 60, "bound_s": 9 * HOUR}, "green", "verified"),
        ({"quality_age_s": 60.0}, "green", "checked 1 min ago"),
        ({"quality_age_s": 24 * HOUR + 1}, "yellow", "last checked 1 d ago"),
        ({"behind": 626, "still_s": HOUR}, "green", "verified"),
        ({"behind": 626, "still_s": 3 * HOUR}, "yellow", "no batch for 3 h, while 626 records"),
        ({"behind": 0, "still_s": 3 * HOUR}, "green", "verified"),
        ({"behind": None, "still_s": 3 * HOUR}, "green", "verified"),
        ({"beside": "run r2 is waiting: no room"}, "yellow", "run r2 is waiting: no room"),
        ({"age_s": HOUR}, "green", "verified"),
        ({"age_s": 3 * HOUR}, "yellow", "3 h old; the bound is 1 h"),
    ],
)
def test_what_makes_a_light(change: dict[str, object], colour: str, said: str) -> None:
    found = light(replace(ALL_WELL, **change))  # type: ignore[arg-type]
    assert found.colour == colour
    assert any(part in found.reasons[0] for part in said.split("|"))


def test_the_worst_reason_comes_first_and_none_is_left_out() -> None:
    found = light(replace(ALL_WELL, state="stopped", quality=BAD, proof=None))
    assert found.colour == "red"
    assert [reason.split(":")[0] for reason in found.reasons] == [
        "an expectation does not hold",
        "its job is stopped",
        "it has never been verified",
    ]


def test_a_pipeline_has_the_worst_of_its_outputs_lights() -> None:
    green, grey = (Light(colour=colour, reasons=["well"]) for colour in ("green", "grey"))
    red, yellow = (Light(colour=colour, reasons=["bad"]) for colour in ("red", "yellow"))
    assert worst([("a", green), ("b", green)]) == green
    assert worst([("a", green), ("b", grey)]).colour == "grey"
    assert worst([("a", red), ("b", red)]).reasons == ["bad"]
    assert worst([("a", red), ("b", yellow)]) == Light(colour="red", reasons=["a: bad"])
    assert worst([]).colour == "grey"


@pytest.mark.parametrize(
    ("seconds", "spelled"),
    [
        *((0, "0 s"), (59.4, "59 s"), (60, "1 min"), (3599, "59 min"), (3660, "1 h 1 min")),
        *((86_399, "23 h 59 min"), (90_000, "1 d 1 h"), (200 * 86_400, "200 d")),
    ],
)
def test_durations_are_spelled_in_two_units(seconds: float, spelled: str) -> None:
    assert spell_s(seconds) == spelled


EXAMPLES = sorted((ROOT / "tests/data/overview").glob("*.json"))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    folder = tmp_path / "runs" / "p" / "r1"
    folder.mkdir(parents=True)
    return Run("p", "r1", "d", folder, folder / "checkpoint", tmp_path / "tables", folder / "p.yml")


def line(batch: int, **more: object) -> str:
    lanes = {"s/0": {"progress": 5_000_000, "records": 10, "late": 1, "dead": 0, "more": [1]}}
    data = {"at": f"2026-11-23T10:00:{batch:02}Z", "batch_id": batch, "lanes": lanes, "new": 1}
    return json.dumps(data | more) + "\n"


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_examples_are_answers(file: Path) -> None:
    data = json.loads(file.read_text(encoding="utf-8"))
    assert Overview.model_validate(data).model_dump(mode="json") == data


def test_metrics_are_read_up_to_a_torn_line(run: Run) -> None:
    assert measured(run.folder).last is None
    text = "".join(line(n, batch_ms=100.0 * n, state_bytes=7 * n, state_rows=n) for n in range(5))
    again = line(4, batch_ms=900.0, state_bytes=9, state_rows=1)
    (run.folder / FILE).write_text(text + again + line(5)[:40])
    found = measured(run.folder)
    assert (found.is_whole, found.problems, len(found.batches)) == (True, (), 5)
    assert found.last is not None
    assert (found.last.state_bytes, found.batch_ms(0.5)) == (9, [200.0])
    assert found.lane("s/0") == (50, 5)
    assert found.lane("s/1") is None
    assert found.progress_us("s/0") == 5_000_000
    totals = [sum(column) for column in zip(*found.history().counts.values(), strict=True)]
    assert totals == [5, 1_500_000, 5]


def test_metrics_that_were_rotated_or_damaged_say_so(run: Run) -> None:
    (run.folder / FILE).write_text(line(7) + line(8))
    assert not measured(run.folder).is_whole
    (run.folder / FILE).write_text(line(0) + "nothing\n" + line(1, at="today") + line(2))
    found = measured(run.folder)
    assert not found.is_whole
    assert found.problems[0].endswith("2 lines are not those of a driver, and were left out")


def test_metrics_go_on_from_the_earlier_file(run: Run) -> None:
    (run.folder / EARLIER_FILE).write_text(line(0) + line(1))
    (run.folder / FILE).write_text(line(2, batch_ms=None, state_bytes=None, rows_in=None))
    found = measured(run.folder)
    assert (found.is_whole, sorted(found.batches), found.batch_ms(0.5)) == (True, [0, 1, 2], [None])
    (run.folder / EARLIER_FILE).unlink()
    assert not measured(run.folder).is_whole


def test_metrics_may_spell_progress_as_an_instant(run: Run) -> None:
    lanes = {"s/0": {"progress": "1970-01-01T00:00:05.000000+00:00", "records": None, "late": None}}
    (run.folder / FILE).write_text(line(0, lanes=lanes, at="2026-11-23T10:00:00.123+00:00"))
    assert measured(run.folder).progress_us("s/0") == 5_000_000
    assert measured(run.folder).lane("s/0") is None


def test_expectations_over_time_from_either_history(run: Run) -> None:
    assert checks_of(run) == ([], [])
    old = run.folder / "quality" / "history.jsonl"
    old.parent.mkdir()
    for hour in (1, 2):
        results = [
            {"query": "q", "expectation": "between", "success": hour == 1, "detail": f"{hour}"},
            {"query": "q", "expectation": "between", "success": True, "detail": "other column"},
            {"query": "r", "expectation": "set", "success": True, "detail": ""},
            {"query": None, "expectation": "conserved", "success": True, "detail": "all"},
        ]
        check = {"at": f"2026-11-23T0{hour}:00:00+00:00", "success": False, "results": results}
        with old.open("a") as file:
            file.write(json.dumps(check) + "\n")
    checks, problems = checks_of(run)
    assert problems == []
    shown = [
        (one.query, one.expectation, [p.passed for p in one.points]) for one in over_time(checks)
    ]
    assert shown == [
        ("q", "between", [True, False]),
        ("q", "between", [True, True]),
        ("r", "set", [True, True]),
        (None, "conserved", [True, True]),
    ]
    found = [quality_of(run, checks, query) for query in ("q", "r")]
    assert [one and (one.at, one.passed, one.sentence) for one in found] == [
        ("2026-11-23T02:00:00Z", False, "2 of 3 expectations hold; not: between (2)"),
        ("2026-11-23T02:00:00Z", True, "2 of 2 expectations hold"),
    ]
    check = {"at": "2026-11-23T03:00:00+00:00", "query": "q", "expectation": "between"}
    check |= {"passed": False, "observed": 7, "threshold": "1 to 5", "sentence": "7 is too much"}
    (run.folder / "quality_history.jsonl").write_text(json.dumps(check) + "\n{}\n")
    checks, problems = checks_of(run)
    assert problems[0].endswith("1 lines are not those of a check, and were left out")
    check |= {"query": "*", "passed": True}
    with (run.folder / "quality_history.jsonl").open("a") as file:
        file.write(json.dumps(check) + "\n")
    assert [one.query for one in checks_of(run)[0]] == ["q", None]
    (one,) = over_time(checks)
    assert (one.threshold, one.points[0].observed) == ("1 to 5", "7")
    judged = quality_of(run, checks, "q")
    assert judged is not None
    assert judged.sentence == "0 of 1 expectations hold; not: 7 is too much"


def test_without_a_history_the_last_verdict_is_that_of_each_query(run: Run) -> None:
    assert quality_of(run, [], "q") is None
    keep_verdict(run, Judge.quality, passed=True, sentence="11 of 11 expectations hold")
    found = quality_of(run, [], "q")
    assert found is not None
    assert found.at.endswith("Z")


def test_verdicts_of_all_kinds_the_newest_first(run: Run, tmp_path: Path) -> None:
    old = {"at": "2026-01-01T00:00:00+00:00", "passed": True, "sentence": "before histories"}
    (run.folder / "last_verify.json").write_text(json.dumps(old))
    keep_verdict(run, Judge.replay, passed=False, sentence="3 trials, different bytes")
    audited = Verdict("2026-02-01T00:00:00+00:00", True, "9 windows: 9 equal")
    note_verdict(audits_file(tmp_path, "p"), "audit", audited, tmp_path / "page.html")
    for name, pipeline, outcome in (
        ("a", "p", "passed"),
        ("b", "p", "unknown"),
        ("c", "x", "failed"),
    ):
        folder = tmp_path / "chaos" / "reports" / name
        folder.mkdir(parents=True)
        plan = {"name": name, "pipeline": f"../{pipeline}.yml"}
        checks = [{"name": "verdict", "outcome": outcome, "detail": "lost 0"}]
        report = {"plan": plan, "outcome": outcome, "checks": checks, "faults": [{}, {}]}
        content = {**report, "began": "2026-03-01T00:00:00+00:00"}
        (folder / "report.json").write_text(json.dumps(content))
        (folder / "report.html").touch()
    (tmp_path / "chaos" / "reports" / "torn").mkdir()
    (tmp_path / "chaos" / "reports" / "torn" / "report.json").write_text("{")
    found, problems = verdicts_of(run, tmp_path, ["p"])
    assert [(one.kind, one.passed, one.sentence) for one in found] == [
        ("replay", False, "3 trials, different bytes"),
        ("chaos", True, "plan a, 2 faults: all 1 checks passed"),
        ("chaos", None, "plan b, 2 faults: verdict: lost 0"),
        ("audit", True, "9 windows: 9 equal"),
        ("verify", True, "before histories"),
    ]
    assert found[3].href == str(tmp_path / "page.html")
    assert "is no report of a chaos run" in problems[0]
    for number in range(30):
        keep_verdict(run, Judge.verify, passed=True, sentence=str(number))
    found, _ = verdicts_of(run, tmp_path, ["p"])
    assert len(found) == 20
