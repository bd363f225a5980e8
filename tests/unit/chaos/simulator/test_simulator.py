"""The simulator: the engine passes, a case determines a run, and the checks can fail."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from chaos.planted_bugs import PLANTED_BUGS
from chaos.simulator.case import (
    Case,
    Event,
    Failure,
    FailureKind,
    PlannedBatch,
    SimulatedRecord,
    record,
)
from chaos.simulator.history import Line, Metric, SimulationHistory
from chaos.simulator.platform.death import JobDied
from chaos.simulator.platform.job import SimulatedJob
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.start import StartCheck
from chaos.simulator.platform.state import StateDamaged, StateFiles
from chaos.simulator.run import draw_case, run_case
from chaos.simulator.simulate import KEEP, replay, simulate
from chaos.simulator.verdict.checks import SimulatorCheck, clean, judge
from chaos.simulator.verdict.refusals import refused
from slackwater.main import app
from tests.conftest import SEED_VARIABLE
from windowing.model import parse_pipeline
from windowing.model.fates import Counts
from windowing.model.rows import row_line
from windowing.semantics import evaluate

PIPELINE = """
name: five
source:
  topic: s
  partitions: 1
  format: json
  event_time: {field: ts, unit: us}
  fields: {g: string}
  disorder: ordered
late: {policy: update, every: 10 us}
retention: 100 us
shards: 2
queries:
  q:
    window: RANGE 10 us SLIDE 10 us WATTR ts
    group_by: [g]
    aggregates: {n: count}
"""
CONTROL = {"control": {"end": True}}


def lane(*contents: Event) -> tuple[Event, ...]:
    return tuple(
        {"source": "s", "partition": 0, "offset": offset, **content}
        for offset, content in enumerate(contents)
    )


def data(ts: int, g: str = "a") -> Event:
    return {"value": {"ts": ts, "g": g}}


# Two windows, a late record for the first of them, poison, and the end.
LOG = lane(data(1), data(12), data(3), {"raw": "poison"}, CONTROL)


def case(*plan: PlannedBatch, log: tuple[Event, ...] = LOG) -> Case:
    return Case("by hand", "slackwater", PIPELINE, (log,), plan)


RUNS = 200
FRESH = 100
"""So many that a mechanism that never took effect is too rare for chance."""


# --- the engine --------------------------------------------------------------------------------


def test_the_engine_passes_and_every_fault_and_mechanism_takes_effect(tmp_path: Path) -> None:
    report = simulate(RUNS, seed=1, keep=tmp_path)
    assert report.ok, "\n".join(report.lines())
    assert report.passed == RUNS
    assert report.complete, "\n".join(report.lines())
    assert report.lines()[-1] == f"{RUNS} passed, 0 failed"
    assert {*FailureKind.__args__} <= set(report.faults)


def test_runs_that_nobody_has_drawn_before_pass() -> None:
    """Their seed is in the report's head; what fails is kept in `.slackwater`, for `--replay`."""
    report = simulate(FRESH, int(os.environ[SEED_VARIABLE]), keep=KEEP)
    assert report.ok, "\n".join(report.lines())
    assert report.passed == FRESH


@pytest.mark.parametrize("kind", FailureKind.__args__)
@pytest.mark.parametrize("state_first", [False, True])
def test_one_failure_of_each_kind_takes_effect_and_changes_nothing(
    kind: FailureKind, state_first: bool
) -> None:
    for at in range(3):
        step = PlannedBatch(take=(2,), state_first=state_first, failures=(Failure(kind, at),))
        result = run_case(case(PlannedBatch(take=(1,)), step), EngineParts())
        assert result.faults[kind] == 1
        assert not result.findings


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        (PlannedBatch(take=(2,), lose_commit=True), "commit entry lost"),
        (PlannedBatch(take=(2,), rewind=1), "records sent again"),
        (PlannedBatch(take=(2,), twice=1), "chunk delivered twice"),
        (PlannedBatch(take=(2,), workers=3), "restart with other workers"),
        (PlannedBatch(take=(2,), move=1), "tasks moved"),
        (PlannedBatch(take=(2,), damage=1), "state file damaged"),
        (PlannedBatch(take=(2,), restore=1), "old checkpoint restored"),
        (PlannedBatch(take=(2,), lose_table=0), "table lost"),
        (PlannedBatch(take=(2,), lose_table=1), "table lost"),
        (PlannedBatch(take=(2,), lose_table=2), "table lost"),
        (PlannedBatch(take=(2,), rival="plans first"), "second driver plans first"),
        (PlannedBatch(take=(2,), rival="same batch"), "second driver on the same batch"),
        (PlannedBatch(take=(2,), rival="same batch", order=1), "second driver on the same batch"),
    ],
)
def test_one_fault_between_batches_takes_effect_and_changes_nothing(
    step: PlannedBatch, fault: str
) -> None:
    for tables in (False, True):
        one = msgspec.structs.replace(
            case(PlannedBatch(take=(2,)), step), tables=tables, tuning={"compact_after_deltas": 1}
        )
        result = run_case(one, EngineParts())
        assert result.faults[fault] == 1
        assert not result.findings


@pytest.mark.parametrize(
    "step", [PlannedBatch(take=(2,), rewind=1), PlannedBatch(take=(2,), twice=1)]
)
def test_where_a_redelivery_is_an_error_it_is_refused_and_what_was_planned_goes_on(
    step: PlannedBatch,
) -> None:
    strict = msgspec.structs.replace(case(PlannedBatch(take=(2,)), step), strict=True)
    result = run_case(strict, EngineParts())
    assert result.faults["redelivery refused"] == 1
    assert not result.findings


class _RestlessJob(SimulatedJob):
    """A job that loses each batch once it is done."""

    def attempt(
        self, batch: int, attempt: int, step: PlannedBatch, failure: Failure | None
    ) -> None:
        super().attempt(batch, attempt, step, failure)
        self.commits = batch
        raise JobDied("driver dies after the commit entry", workers=False)


def test_a_job_that_comes_to_no_end_has_failed() -> None:
    [finding] = run_case(case(), EngineParts("restless", job=_RestlessJob)).findings[:1]
    assert finding.check == "no error"
    assert "batch 0 comes to no end" in finding.lines[0]


class _BlindJob(SimulatedJob):
    """A job that compares nothing at its start."""

    def _compare(self) -> StartCheck:
        return StartCheck((), ())


@pytest.mark.parametrize(
    ("step", "check"),
    [
        (PlannedBatch(take=(1,), restore=1), "conservation"),
        (PlannedBatch(take=(2,), lose_table=0), "nothing skipped"),
    ],
)
def test_a_job_that_does_not_compare_is_found(step: PlannedBatch, check: SimulatorCheck) -> None:
    parts = EngineParts("blind", job=_BlindJob)
    plan = (PlannedBatch(take=(2,)), step)
    assert check in {finding.check for finding in run_case(case(*plan), parts).findings}
    assert not run_case(case(*plan), EngineParts()).findings


OVERFLOW = PIPELINE.replace("{g: string}", "{g: string, v: int}").replace("count", "sum(v)")


@pytest.mark.parametrize("value", [2**62, 2**61])
def test_a_sum_that_leaves_64_bits_stops_no_run(value: int) -> None:
    events = [{"value": {"ts": ts, "g": "a", "v": value}} for ts in (1, 2, 12, 30)]
    one = Case("by hand", "slackwater", OVERFLOW, (lane(*events),), (PlannedBatch(take=(2,)),))
    assert run_case(one, EngineParts()).findings == ()
    pipeline, records = parse_pipeline(OVERFLOW), [[record(event) for event in one.lanes[0]]]
    assert refused(pipeline, records[0]) is None
    broken = SimulationHistory(
        ends=[(4,)], commits=0, error="ValueError: ?", error_kind="ValueError"
    )
    assert [finding.check for finding in judge(pipeline, records, broken)] == ["no error"]


def test_rows_in_a_gap_between_windows_are_counted_as_applied() -> None:
    rows = "WATTR row_num"
    text = PIPELINE.replace("late: {policy: update, every: 10 us}\n", "")
    text = text.replace("RANGE 10 us SLIDE 10 us WATTR ts", f"RANGE 1 rows SLIDE 3 rows {rows}")
    assert rows in text
    result = run_case(Case("by hand", "slackwater", text, (LOG,), ()), EngineParts())
    assert not result.findings


@pytest.mark.parametrize(
    "window",
    [
        "RANGE 2 rows SLIDE 2 rows WATTR row_num ORDER event_time",
        "RANGE LANDMARK SLIDE 2 rows WATTR row_num ORDER event_time",
    ],
)
def test_windows_that_end_at_a_row_are_not_measured_by_the_clock(window: str) -> None:
    """Event time, here below 0, closes the windows, whose ends are row numbers above 0."""
    text = PIPELINE.replace("late: {policy: update, every: 10 us}\n", "")
    text = text.replace("RANGE 10 us SLIDE 10 us WATTR ts", window)
    log = lane(data(-30), data(-20), data(-10), data(-5))
    assert "row_num" in text
    result = run_case(
        Case("by hand", "slackwater", text, (log,), (PlannedBatch(take=(3,)),)), EngineParts()
    )
    assert result.findings == ()


# --- cases -------------------------------------------------------------------------------------


def test_a_seed_is_one_run_whatever_else_is_asked(tmp_path: Path) -> None:
    first, again = (draw_case(5, 3, EngineParts()) for _ in range(2))
    assert first == again
    assert first != draw_case(5, 4, EngineParts())
    sink = PLANTED_BUGS["at_least_once_sink"].parts
    reports = [simulate(8, 2, parts=sink, jobs=n, keep=tmp_path / str(n), shrunk=0) for n in (1, 2)]
    assert len({report.passed for report in reports}) == 1
    assert reports[0].failures
    assert reports[0].faults == reports[1].faults


def test_a_failure_is_shrunk_kept_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parts = PLANTED_BUGS["token_of_all_tables"].parts
    failed = simulate(5, 7, parts=parts, stop_at=1, shrunk=1).failures[0]
    assert failed.drawn is not None
    assert failed.drawn[0] > 4 >= failed.case.records
    assert len(failed.case.plan) <= 2
    again = replay(failed.file, parts).failures[0]
    assert (again.case, again.findings) == (failed.case, failed.findings)

    answer = CliRunner().invoke(app, failed.command.split()[1:])
    assert answer.exit_code == 1
    assert answer.output.splitlines()[-1] == "0 passed, 1 failed"
    assert failed.command in answer.output

    # The same run with the real engine passes: the defect is the sink's.
    document = json.loads(failed.file.read_text()) | {"engine": "slackwater"}
    failed.file.write_text(json.dumps(document))
    answer = CliRunner().invoke(app, failed.command.split()[1:])
    assert (answer.exit_code, answer.output.splitlines()[-1]) == (0, "1 passed, 0 failed")


@pytest.mark.parametrize("content", [None, "", "[]", '{"seed": 1}'])
def test_a_file_that_holds_no_case_is_a_usage_error(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "case.json"
    if content is not None:
        file.write_text(content)
    answer = CliRunner().invoke(app, ["chaos", "simulate", "--replay", str(file)])
    assert answer.exit_code == 2


def test_a_pipeline_file_can_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "p.yml"
    file.write_text(PIPELINE)
    command = ["chaos", "simulate", "--runs", "3", "--seed", "1", "--pipeline", str(file)]
    answer = CliRunner().invoke(app, command)
    assert (answer.exit_code, answer.output.splitlines()[-1]) == (0, "3 passed, 0 failed")


@pytest.mark.parametrize("name", ["route_sessions", "departures_weather"])
def test_sessions_and_a_join_of_ours_can_be_given(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The join has more lanes than a random pipeline: six."""
    file = Path(__file__).parents[4] / "pipelines" / f"{name}.yml"
    monkeypatch.chdir(tmp_path)
    command = ["chaos", "simulate", "--runs", "4", "--seed", "5", "--pipeline", str(file)]
    answer = CliRunner().invoke(app, command)
    assert (answer.exit_code, answer.output.splitlines()[-1]) == (0, "4 passed, 0 failed")


def test_a_damaged_state_file_is_named() -> None:
    files, task = StateFiles(), ("shard", 0)
    files.commit(task, 1, {}, {"k": b"v", "gone": b"x"})
    files.commit(task, 2, {"k": b"v", "gone": b"x"}, {"k": b"w"})
    assert files.load(task, 2) == {"k": b"w"}
    name = files.damage(task, 2)
    with pytest.raises(StateDamaged, match=r"shard-0/2\.delta is damaged"):
        files.load(task, 2)
    files.repair(name)
    assert files.load(task, 2) == {"k": b"w"}


# --- the checks, on five-line histories -----------------------------------------------------------

RECORDS: list[SimulatedRecord] = [record(event) for event in LOG]
SPEC = parse_pipeline(PIPELINE)


def right() -> SimulationHistory:
    """The history of a run that took the first three records in one batch, then the rest."""
    history = SimulationHistory(ends=[(3,), (5,)])
    seen: set[str] = set()
    for number, (end,) in enumerate(history.ends):
        whole = clean(evaluate(SPEC, RECORDS[:end]))
        batch = history.batches[number]
        batch.rows = [line for line in whole.rows if line[1] not in seen]
        batch.dead = [line for line in whole.dead if line[1] not in seen]
        seen |= {line[1] for line in (*whole.rows, *whole.dead)}
    history.batches[0].metrics = [Metric("s/0", "q", Counts.of(read=3, applied=3), 12, ended=False)]
    history.batches[1].metrics = [Metric("s/0", "q", Counts.of(read=1, dead=1), None, ended=True)]
    return history


def convicted(history: SimulationHistory) -> set[SimulatorCheck]:
    return {finding.check for finding in judge(SPEC, [RECORDS], history)}


def test_the_right_history_is_acquitted() -> None:
    history = right()
    assert [len(batch.rows) for batch in history.batches.values()] == [1, 2]
    assert convicted(history) == set()


def _lose_a_row(history: SimulationHistory) -> None:
    del history.batches[1].rows[0]


def _send_a_row_twice(history: SimulationHistory) -> None:
    history.batches[1].rows.append(history.batches[0].rows[0])


def _send_other_bytes(history: SimulationHistory) -> None:
    identity, line = history.batches[0].rows[0]
    history.batches[0].rows[0] = (identity, line.replace('"n":1', '"n":2'))


def _late_record_in_revision_0(history: SimulationHistory) -> None:
    early = evaluate(SPEC, [RECORDS[0], *RECORDS[2:]])
    merged = next(row for row in early.rows if row.window_id == 0)
    identity, _ = history.batches[0].rows[0]
    history.batches[0].rows[0] = (identity, row_line(merged))


def _lose_a_dead_letter(history: SimulationHistory) -> None:
    history.batches[1].dead.clear()


def _miscount(history: SimulationHistory) -> None:
    metric = history.batches[0].metrics[0]
    history.batches[0].metrics[0] = replace(metric, counts=Counts.of(read=4, applied=4))


def _close_early(history: SimulationHistory) -> None:
    history.batches[0].rows += history.batches[1].rows
    history.batches[1].rows = []


def _close_late(history: SimulationHistory) -> None:
    history.batches[1].rows += history.batches[0].rows
    history.batches[0].rows = []


def _go_back(history: SimulationHistory) -> None:
    metric = history.batches[1].metrics[0]
    history.batches[1].metrics[0] = replace(metric, progress_us=11, ended=False)


def _run_again_otherwise(history: SimulationHistory) -> None:
    history.attempts[1] = [frozenset({"one"}), frozenset({"another"})]


def _skip_a_file(history: SimulationHistory) -> None:
    history.skipped.append("shard-0/2.delta")


def _name_a_file_twice(history: SimulationHistory) -> None:
    history.unsound.append("table q names part-0 twice")


def _break_off(history: SimulationHistory) -> None:
    history.error = "ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("spoil", "check"),
    [
        (_lose_a_row, "deterministic"),
        (_send_a_row_twice, "exactly once"),
        (_send_other_bytes, "deterministic"),
        (_late_record_in_revision_0, "deterministic"),
        (_lose_a_dead_letter, "dead letters"),
        (_miscount, "conservation"),
        (_close_early, "closing"),
        (_close_late, "closing"),
        (_go_back, "progress"),
        (_run_again_otherwise, "repeatable"),
        (_skip_a_file, "nothing skipped"),
        (_name_a_file_twice, "sound tables"),
        (_break_off, "no error"),
    ],
)
def test_a_corrupted_history_is_found(
    spoil: Callable[[SimulationHistory], None], check: SimulatorCheck
) -> None:
    history = right()
    spoil(history)
    assert check in convicted(history)


def test_a_step_is_written_without_what_is_plain() -> None:
    step = PlannedBatch(take=(1,), failures=(Failure("sink refuses"),))
    written = {"take": [1], "failures": [{"kind": "sink refuses"}]}
    assert json.loads(msgspec.json.encode(step)) == written


def test_lines_are_pairs_of_identity_and_text() -> None:
    line: Line = right().batches[0].rows[0]
    assert json.loads(line[1])["query"] == json.loads(line[0][0]) == "q"


def test_counts_of_a_lane_that_the_log_has_not_are_a_finding() -> None:
    history = right()
    history.batches[0].metrics = [Metric("t/0", "q", Counts.of(read=3, applied=3), 12, ended=False)]
    found = {finding.check: finding.lines for finding in judge(SPEC, [RECORDS], history)}
    assert found["progress"] == ("batch 0 counts t/0, which is no lane of the log",)
