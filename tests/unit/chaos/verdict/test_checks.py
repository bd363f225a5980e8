"""Checks on histories of a few lines, some of which must fail."""

import json
from pathlib import Path

import pytest

from chaos.faults.fault import PoisonedRecord
from chaos.history import History
from chaos.readers.output import Output, dead_letter_identity, row_identity
from chaos.verdict import checks
from chaos.verdict.check import Check, Outcome, merged
from chaos.verdict.checks import compare_states
from chaos.verdict.verify import verify
from windowing.model.fates import Counts
from windowing.model.file.pipeline import parse_pipeline
from windowing.model.rows import DeadLetter, dead_letter_line

ENDED = 2**63 - 1


def history(*lines: tuple[float, str, dict[str, object]]) -> History:
    found = History()
    for at_s, kind, facts in lines:
        found.note(at_s, kind, **facts)  # type: ignore[arg-type]
    return found


def step(batch: int, lane: str, us: int | None, first: int, last: int) -> tuple[float, str, dict]:
    facts = {"batch": batch, "lane": lane, "progress_us": us, "first": first, "last": last}
    return (float(batch), "progress", facts)


def emitted(batch: int, end_us: int) -> tuple[float, str, dict]:
    return (float(batch), "emitted", {"batch": batch, "query": "q", "end_us": end_us})


def outcome(*lines: tuple[float, str, dict]) -> Check:
    return checks.progress(history(*lines), {"t/0": None, "t/1": None})


def test_a_window_is_sent_when_all_lanes_have_passed_it() -> None:
    found = outcome(
        step(0, "t/0", 100, 0, 4),
        step(0, "t/1", 50, 0, 4),
        emitted(0, 50),
        step(1, "t/1", ENDED, 5, 6),
        emitted(1, 100),
    )
    assert found.outcome is Outcome.passed, found


def test_a_window_emitted_before_the_slowest_lane_has_passed_it_fails() -> None:
    found = outcome(step(0, "t/0", 100, 0, 4), step(0, "t/1", 50, 0, 4), emitted(0, 51))
    assert found.outcome is Outcome.failed
    assert found.evidence == (
        "batch 0 sends a window of q that ends at 51, and t/1 has reached 50",
    )


def test_a_window_emitted_before_a_lane_has_reported_progress_fails() -> None:
    assert outcome(step(0, "t/0", 100, 0, 4), emitted(0, 10)).outcome is Outcome.failed


def test_a_lane_that_joined_counts_from_where_it_joined() -> None:
    """It holds back what ends behind that, and nothing before."""
    for end_us, expected in ((20, Outcome.passed), (21, Outcome.failed)):
        log = history(step(0, "t/0", 100, 0, 4), emitted(0, end_us))
        assert checks.progress(log, {"t/0": None, "t/1": 20}).outcome is expected


def test_a_window_that_waits_for_the_next_batch_of_its_lane_must_not_be_sent_now() -> None:
    found = outcome(
        step(0, "t/0", 100, 0, 4),
        step(0, "t/1", 50, 0, 4),
        emitted(0, 60),
        step(1, "t/1", 60, 5, 6),
    )
    assert found.outcome is Outcome.failed


def test_falling_progress_fails() -> None:
    found = outcome(
        step(0, "t/0", 100, 0, 4), step(1, "t/0", 99, 5, 6), step(1, "t/1", 10, 0, 1), emitted(1, 9)
    )
    assert found.outcome is Outcome.failed
    assert "t/0: progress falls from batch 0 on" in found.evidence[0]


def test_an_offset_that_is_read_twice_fails() -> None:
    found = outcome(
        step(0, "t/0", 100, 0, 4),
        step(1, "t/0", 100, 4, 6),
        step(1, "t/1", 10, 0, 1),
        emitted(1, 9),
    )
    assert found.evidence == ("t/0: batch 1 reads offset 4 again",)


def test_no_window_shows_nothing() -> None:
    assert outcome(step(0, "t/0", 100, 0, 4)).outcome is Outcome.unknown


def fault(number: int, kind: str, **facts: object) -> tuple[float, str, dict[str, object]]:
    return (float(number), kind, {"fault": number, "name": "kill_driver", **facts})


def test_recovery_is_judged_by_the_bound() -> None:
    log = history(
        fault(0, "fault", evidence="gone", batches=2),
        fault(0, "recovered", batch=3, seconds=9.0, batches=2),
    )
    assert checks.recovered(log, 10.0).outcome is Outcome.passed
    slow = checks.recovered(log, 8.0)
    assert (slow.outcome, slow.evidence) == (Outcome.failed, ("kill_driver: 9.0 s",))


def test_a_job_that_does_not_recover_fails() -> None:
    log = history(fault(0, "fault", evidence="gone", batches=2), fault(0, "stuck", seconds=300.0))
    assert checks.recovered(log, 1000.0).outcome is Outcome.failed


def test_no_recovery_shows_nothing() -> None:
    assert checks.recovered(history(), 10.0).outcome is Outcome.unknown


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([fault(0, "fault", evidence="gone", batches=2)], Outcome.passed),
        ([fault(0, "no_effect", why="nothing to hurt")], Outcome.unknown),
        # Evidence at first, and then it turns out that nobody had noticed.
        (
            [
                fault(0, "fault", evidence="stopped", batches=2),
                fault(0, "no_effect", why="nothing replaced it"),
            ],
            Outcome.unknown,
        ),
        ([], Outcome.unknown),
    ],
)
def test_without_evidence_the_verdict_is_unknown(lines: list, expected: Outcome) -> None:
    assert checks.took_effect(history(*lines), planned=1).outcome is expected


def test_one_failure_decides_then_one_unknown() -> None:
    def of(*outcomes: Outcome) -> Outcome:
        return merged(Check("c", one, "") for one in outcomes)

    passed, failed, unknown = Outcome.passed, Outcome.failed, Outcome.unknown
    assert of(passed, passed) is passed
    assert of(passed, unknown) is unknown
    assert of(unknown, failed, passed) is failed
    assert of() is unknown


PIPELINE = parse_pipeline("""\
name: p
source: {topic: t, partitions: 1, format: json, event_time: {field: ts, unit: us}, fields: {},
  disorder: {slack: 1 us}}
queries: {q: {window: RANGE 10 us SLIDE 10 us WATTR ts, aggregates: {n: count}}}
""")


def log_of(*values: bytes) -> list:
    from chaos.readers.log import LogRecord

    records = [LogRecord("t", 0, offset, value, None, None) for offset, value in enumerate(values)]
    return [*records, LogRecord("t", 0, len(values), None, b'{"end":true}', None)]


def output_of(rows: list, dead: list[DeadLetter], counts: Counts) -> Output:
    letters = [(dead_letter_identity(one), dead_letter_line(one)) for one in dead]
    return Output(rows, letters, {"q": counts}, ordered=False, name="made by hand")


def rows_by_definition(*values: bytes) -> list:
    from windowing.model.rows import row_line
    from windowing.semantics import evaluate

    return [(row_identity(r), row_line(r)) for r in evaluate(PIPELINE, log_of(*values)).rows]


LOG = (b'{"ts":5}', b"{", b'{"ts":15}')
BAD = DeadLetter("t", 0, 1, None, "malformed")
COUNTS = Counts.of(read=3, applied=2, outside=0, dropped=0, dead=1)


def test_the_definitions_own_rows_pass() -> None:
    output = output_of(rows_by_definition(*LOG), [BAD], COUNTS)
    verdict = verify(PIPELINE, log_of(*LOG), output)
    assert checks.deterministic(verdict).outcome is Outcome.passed
    assert checks.exactly_once(verdict).outcome is Outcome.passed


def test_a_duplicate_row_fails_both_checks() -> None:
    rows = rows_by_definition(*LOG)
    verdict = verify(PIPELINE, log_of(*LOG), output_of([*rows, rows[0]], [BAD], COUNTS))
    assert checks.deterministic(verdict).outcome is Outcome.failed
    assert checks.exactly_once(verdict).outcome is Outcome.failed


def test_a_record_that_is_counted_twice_is_not_exactly_once() -> None:
    counts = Counts.of(read=4, applied=3, outside=0, dropped=0, dead=1)
    verdict = verify(PIPELINE, log_of(*LOG), output_of(rows_by_definition(*LOG), [BAD], counts))
    assert checks.exactly_once(verdict).outcome is Outcome.failed


def test_a_lost_row_shows_the_smallest_window() -> None:
    verdict = verify(PIPELINE, log_of(*LOG), output_of(rows_by_definition(*LOG)[1:], [BAD], COUNTS))
    found = checks.deterministic(verdict)
    assert found.outcome is Outcome.failed
    assert any("smallest differing window: q window 0" in line for line in found.evidence)


def test_an_empty_log_shows_nothing() -> None:
    verdict = verify(PIPELINE, log_of(), output_of([], [], Counts.of()))
    assert checks.deterministic(verdict).outcome is Outcome.unknown


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (PoisonedRecord(0, 1, "malformed"), Outcome.passed),
        (PoisonedRecord(0, 1, "null_key"), Outcome.failed),
        (PoisonedRecord(0, 2, "malformed"), Outcome.failed),
    ],
)
def test_poison_must_be_refused_where_it_stands_and_for_its_reason(
    sent: PoisonedRecord, expected: Outcome
) -> None:
    output = output_of([], [BAD], COUNTS)
    assert checks.poison([sent], output).outcome is expected


def test_poison_for_one_query_only_is_not_enough() -> None:
    output = output_of([], [DeadLetter("t", 0, 1, "q", "malformed")], COUNTS)
    assert checks.poison([PoisonedRecord(0, 1, "malformed")], output).outcome is Outcome.failed
    assert checks.poison([], output).outcome is Outcome.unknown


def test_a_history_is_written_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    written = History(path=path)
    written.note(0.0, "start", plan="p", seed=1)
    written.note(1.23456, "commit", batch=0, offsets=10)
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"at_s": entry.at_s, "kind": entry.kind, **entry.facts} for entry in written.entries
    ]


def test_a_loss_that_is_not_named_fails() -> None:
    def said(text: str | None, *missing: str) -> tuple[float, str, dict]:
        facts = {"fault": 0, "name": "f", "wanted": ["a", "b"], "said": text, "missing": missing}
        return (1.0, "named", facts)

    assert checks.named(history()).outcome is Outcome.unknown
    assert checks.named(history(said("a and b"))).outcome is Outcome.passed
    assert checks.named(history(said(None))).outcome is Outcome.passed
    found = checks.named(history(said("only a", "b"), said("a and b")))
    assert found.outcome is Outcome.failed
    assert found.evidence == ("f: the error lacks b: only a",)


@pytest.mark.parametrize(
    ("expected", "text", "evidence"),
    [
        ("named", "a", ()),
        ("harmless", None, ()),
        ("named", None, ("f: should be named, and the job went on in silence",)),
        ("harmless", "a", ("f: should be harmless, and the job said: a",)),
    ],
)
def test_what_a_plan_expects_of_a_fault_decides(
    expected: str, text: str | None, evidence: tuple[str, ...]
) -> None:
    facts = {"fault": 0, "name": "f", "wanted": ["a"], "said": text, "missing": ()}
    found = checks.named(history((1.0, "named", {**facts, "expected": expected})))
    assert found.outcome is (Outcome.failed if evidence else Outcome.passed)
    assert found.evidence == evidence


def test_what_cannot_be_done_here_is_no_pass() -> None:
    struck = (1.0, "fault", {"fault": 0, "name": "f", "evidence": "e", "batches": 1})
    refused = (2.0, "unsupported", {"fault": 1, "name": "g", "why": "no mount"})
    found = checks.took_effect(history(struck, refused), 2)
    assert (found.outcome, found.evidence) == (Outcome.unsupported, ("g: no mount",))
    assert checks.took_effect(history(struck, refused), 3).outcome is Outcome.unknown
    passed = Check("c", Outcome.passed, "")
    assert merged([passed, found]) is Outcome.unsupported


def deployed(state: str, most: int, left: tuple[str, ...]) -> tuple[float, str, dict]:
    facts = {"fault": 0, "name": "kill_airflow_task", "state": state, "most": most, "left": left}
    return (1.0, "deployed", facts)


def test_a_deployment_comes_through_with_one_driver() -> None:
    found = checks.one_job(history(deployed("success", 1, ("driver-1",))))
    assert found.outcome is Outcome.passed, found
    assert checks.one_job(history()).outcome is Outcome.unknown


@pytest.mark.parametrize(
    "bad",
    [
        deployed("failed", 1, ("driver-1",)),
        deployed("success", 2, ("driver-1",)),
        deployed("success", 1, ("driver-1", "driver-2")),
        deployed("success", 1, ()),
    ],
)
def test_a_twin_or_no_job_at_all_fails(bad: tuple[float, str, dict]) -> None:
    found = checks.one_job(history(deployed("success", 1, ("driver-0",)), bad))
    assert found.outcome is Outcome.failed
    assert "1 of 2 deployments" in found.detail


STATE = {("lane 0", "lane"): [{"last_offset": 7}], ("shard 1", "q/partials"): [[1, 2], [3, 4]]}


def test_equal_states_are_acquitted() -> None:
    found = compare_states(STATE, {place: [*rows] for place, rows in STATE.items()})
    assert found.outcome is Outcome.passed
    assert found.detail == "3 rows of state in 2 lanes and shards, 0 tables differ"


@pytest.mark.parametrize(
    ("other", "shown"),
    [
        ({("shard 1", "q/partials"): [[1, 2], [3, 5]]}, "first in row 1"),
        ({("shard 1", "q/partials"): [[1, 2]]}, "first in row 1"),
        ({("shard 2", "q/partials"): [[9]]}, "shard 2, table q/partials: 1 rows, clean 0"),
    ],
)
def test_a_state_that_differs_fails_and_its_first_row_is_shown(
    other: dict[tuple[str, str], list[object]], shown: str
) -> None:
    found = compare_states({**STATE, **other}, STATE)
    assert found.outcome is Outcome.failed
    assert shown in found.evidence[0]


def test_an_empty_state_shows_nothing() -> None:
    assert compare_states({}, {}).outcome is Outcome.unknown
