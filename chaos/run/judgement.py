"""All checks of a run that is over: of the log, the tables, the checkpoint and the history."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from chaos.faults.catalogue import FAULTS
from chaos.plan import Plan
from chaos.readers.log import read_topics
from chaos.readers.output import Output, OutputError, read_tables
from chaos.readers.table_history import note_tables
from chaos.run.clean_run import same_state
from chaos.run.siege import Siege
from chaos.verdict import checks
from chaos.verdict.checks import Check, Outcome
from chaos.verdict.verify import Verdict, verify, with_records
from jobs.runs import committed_offsets
from windowing.semantics import LogEntry


@dataclass(frozen=True)
class Judgement:
    """What a run is found to be.

    Attributes:
        checks: that of the evidence first, the others in the order of the plan.
        verdict: of the output against the definition; None: there is no output.
    """

    checks: tuple[Check, ...]
    verdict: Verdict | None


def judge(siege: Siege, bootstrap: str) -> Judgement:
    """All checks of the plan; the clean run for one of them goes on beside the others.

    Args:
        siege: is over.
        bootstrap: of the broker, as this process reaches it.

    Raises:
        LogError: the topic cannot be read.
    """
    plan, job, history = siege.plan, siege.job, siege.history
    with ThreadPoolExecutor(max_workers=1) as pool:
        state: Future[Check] | None = None
        if "state" in plan.checks and siege.drained is not None:
            state = pool.submit(same_state, job, siege.drained, bootstrap)
        found = [checks.took_effect(history, len(plan.faults) * plan.rounds)]
        verdict: Verdict | None = None
        try:
            verdict, output = _compared(siege, bootstrap)
            found += _judge_output(siege, verdict, output)
        except OutputError as error:  # a job that never came to a batch has none
            found.append(Check("deterministic", Outcome.unknown, f"nothing to compare: {error}"))
            found.append(checks.recovered(history, plan.recovery.within_us / 1e6))
        if state is not None:
            found.append(state.result())
        elif "state" in plan.checks and siege.scene.log is None:
            detail = "the run did not take in all of its log: nothing to compare"
            found.append(Check("state", Outcome.unknown, detail))
    return Judgement(tuple(sorted(found, key=lambda check: _place(plan, check))), verdict)


def _place(plan: Plan, check: Check) -> int:
    """Where a check stands: that of the evidence first, the others as the plan lists them."""
    names: tuple[str, ...] = plan.checks
    return names.index(check.name) if check.name in names else -1


def _compared(siege: Siege, bootstrap: str) -> tuple[Verdict, Output]:
    """Compare the output with the definition, and note in the history what the tables say."""
    job = siege.job
    pipeline = job.accepted
    note_tables(siege.history, job.table, pipeline, job.run)
    output = read_tables(job.table, pipeline, job.run)
    log: list[LogEntry]
    if siege.scene.log is None:
        log = [*read_topics(bootstrap, pipeline.source)]
    else:
        # Records are gone since; the answer up to what the job has committed must be right.
        _, read = committed_offsets(job.checkpoint)
        log = [one for one in siege.scene.log if one.offset < read.get(one.partition, 0)]
    return with_records(verify(pipeline, log, output), pipeline, log), output


def _judge_output(siege: Siege, verdict: Verdict, output: Output) -> Iterator[Check]:
    """The checks that need history, log and tables only."""
    plan, history = siege.plan, siege.history
    source = siege.job.accepted.source
    lanes = {
        source.lane(number): source.begins_at(number, source.event_time.field)
        for number in range(source.partitions)
    }
    for name in plan.checks:
        match name:
            case "deterministic":
                yield checks.deterministic(verdict)
            case "exactly_once":
                yield checks.exactly_once(verdict)
            case "progress":
                yield checks.progress(history, lanes)
            case "poison" if any(FAULTS[step.fault].poisons for step in plan.faults):
                yield checks.poison(siege.poison, output)
            case "recovered":
                yield checks.recovered(history, plan.recovery.within_us / 1e6)
            case "one_job" if any(history.of("deployed")):
                yield checks.one_job(history)
            case "named" if any(history.of("named")):
                yield checks.named(history)
