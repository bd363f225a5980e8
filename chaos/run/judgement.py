"""All checks of a finished run: of the log, the tables, the checkpoint and the history."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from chaos.plan import Plan
from chaos.readers.catalogue import read_output
from chaos.readers.output import Output, OutputError
from chaos.readers.table_history import note_tables
from chaos.readers.topic import read_topics
from chaos.run.fault_run import FaultRun
from chaos.run.job_handle import read_states
from chaos.verdict import checks
from chaos.verdict.catalogue import CHECKS
from chaos.verdict.check import Check, FinishedRun, Outcome
from chaos.verdict.verify import Verdict, verify, with_records
from jobs.runs import committed_offsets
from windowing.semantics import LogEntry
from windowing.semantics.changes import UndeclaredChange


@dataclass(frozen=True)
class Judgement:
    """The results of all checks of a run.

    Attributes:
        checks: `took effect` first, the others in the order of the plan.
        verdict: the comparison of the output with the definition; None: there is no output.
    """

    checks: tuple[Check, ...]
    verdict: Verdict | None


def judge(fault_run: FaultRun, bootstrap: str) -> Judgement:
    """Run all checks of the plan, with the clean run for one of them in parallel.

    `bootstrap` is the broker's address, as this process sees it.

    Raises:
        LogError: the topic cannot be read.
    """
    plan, history = fault_run.plan, fault_run.history
    kinds = [CHECKS[name] for name in plan.checks]
    with ThreadPoolExecutor(max_workers=1) as pool:
        run = _facts(fault_run)
        if fault_run.drained is not None and any("states" in kind.asks for kind in kinds):
            reading = pool.submit(read_states, fault_run.job, fault_run.drained, bootstrap)
            run = replace(run, states=reading.result)
        found = [checks.took_effect(history, len(plan.faults) * plan.rounds)]
        try:
            verdict, output = _compared(fault_run, bootstrap)
        except (OutputError, UndeclaredChange) as error:
            found += [_incomparable(error), checks.recovered(history, run.within_s)]
            kinds = [kind for kind in kinds if {"states", "imported"} & {*kind.asks}]
        else:
            run = replace(run, verdict=verdict, output=output)
        # Checks of the state come last: the clean run continues in the meantime.
        kinds.sort(key=lambda kind: "states" in kind.asks)
        found += [kind.judge(run) for kind in kinds if kind.when(run)]
    return Judgement(tuple(sorted(found, key=lambda check: _place(plan, check))), run.verdict)


def _incomparable(error: OutputError | UndeclaredChange) -> Check:
    if isinstance(error, UndeclaredChange):
        why = f"the job has not made all changes of its queries that its log makes: {error}"
        return Check("deterministic", Outcome.failed, why)
    # A job that never finished a batch has none.
    return Check("deterministic", Outcome.unknown, f"nothing to compare: {error}")


def _facts(fault_run: FaultRun) -> FinishedRun:
    source = fault_run.job.accepted.source
    return FinishedRun(
        faults=[step.fault for step in fault_run.plan.faults],
        history=fault_run.history,
        verdict=None,
        output=None,
        lanes={
            source.lane(number): source.begins_at(number, source.event_time.field)
            for number in range(source.partitions)
        },
        poisoned=fault_run.poison,
        within_s=fault_run.plan.recovery.within_us / 1e6,
        taken=fault_run.context.log is not None,
        imported=fault_run.context.imported,
    )


def _place(plan: Plan, check: Check) -> int:
    """Return the rank of a check: `took effect` first, the others as in the plan."""
    names: tuple[str, ...] = plan.checks
    return names.index(check.name) if check.name in names else -1


def _compared(fault_run: FaultRun, bootstrap: str) -> tuple[Verdict, Output]:
    """Compare the output with the definition, and add what the tables say to the history."""
    job = fault_run.job
    pipeline = job.accepted
    note_tables(fault_run.history, job.table, pipeline, job.run)
    output = read_output(pipeline, job.table, job.run)
    log: list[LogEntry]
    if fault_run.context.log is None:
        log = [*read_topics(bootstrap, pipeline.source)]
    else:
        # Records have been deleted since; the result up to the last commit must still be right.
        _, read = committed_offsets(job.checkpoint)
        log = [one for one in fault_run.context.log if one.offset < read.get(one.partition, 0)]
    return with_records(verify(pipeline, log, output), pipeline, log), output
