"""Runs plans on a stack: workload, faults, history, checks.

The job is a real one under supervision, the faults are real, and the judge sees the log, the tables
and the files of the checkpoint only. Victims and moments are drawn from the seed.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from chaos import checks, workload
from chaos.checks import Check, Outcome
from chaos.clean_run import same_state
from chaos.faults.catalogue import FAULTS
from chaos.history import History
from chaos.log import read_topics
from chaos.output import read_tables
from chaos.plan import Plan
from chaos.siege import Siege
from chaos.site import News, Site, StackKind, site
from chaos.table_history import note_tables
from chaos.target import Target
from chaos.verify import verify, with_records
from infra.layout import ROOT, Layout
from jobs.runs import committed_offsets
from windowing.semantics import LogEntry
from windowing.spec import Pipeline

_POISONS = ("poison_records", "huge_records")


@dataclass(frozen=True)
class Report:
    """What a run came to.

    Attributes:
        plan: what was run.
        seed: what victims and moments were drawn from.
        command: runs it again.
        commit: of the checkout, or empty.
        began: when, ISO 8601.
        history: all that happened.
        checks: in the order of the plan, after that of the evidence.
    """

    plan: Plan
    seed: int
    command: str
    commit: str
    began: str
    history: History
    checks: tuple[Check, ...]

    @property
    def outcome(self) -> Outcome:
        """Failed if a check failed, else unknown if one is unknown, else passed."""
        return checks.merged(self.checks)


@dataclass(frozen=True)
class Order:
    """A plan to be run.

    Attributes:
        plan: the plan.
        file: where it stands; the pipeline is found from there.
        folder: an existing folder of its own, gets `history.jsonl`.
    """

    plan: Plan
    file: Path
    folder: Path

    @property
    def pipeline(self) -> Path:
        """The pipeline file."""
        return self.file.parent / self.plan.pipeline


def run_plan(
    plan: Plan,
    file: Path,
    *,
    seed: int,
    layout: Layout,
    folder: Path,
    news: News,
    kind: StackKind = "local",
) -> Report:
    """Run one plan on a stack of its own, and stop the stack; see `Order` and `run_plans`."""
    return run_plans([Order(plan, file, folder)], seed=seed, layout=layout, news=news, kind=kind)[0]


def run_plans(
    orders: Sequence[Order],
    *,
    seed: int,
    layout: Layout,
    news: News,
    kind: StackKind = "local",
    done: Callable[[Order, Report], None] = lambda order, report: None,
) -> list[Report]:
    """Run plans one after another on one stack of their own, and stop the stack.

    Each has a job, topics and tables of its own. If one of them needs Airflow, several brokers
    or a proxy before the only one, the stack has them for all.

    Args:
        orders: the plans, at least one.
        seed: of victims and moments.
        layout: where the stack's state lies; another's stack there is used, and stopped.
        news: told what happens.
        kind: of processes on this machine, or of containers.
        done: told of each report as soon as it is there.

    Raises:
        InfraError: the stack does not start, or does not get well between two plans.
        PipelineError: a pipeline file breaks a rule.
    """
    stamp = f"chaos-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    names = [stamp] if len(orders) == 1 else [f"{stamp}-{n}" for n, _ in enumerate(orders, 1)]
    pipelines = [_own_pipeline(*named) for named in zip(orders, names, strict=True)]
    wanted = {name for order in orders for name in order.plan.components}
    proxied = any(FAULTS[step.fault].proxied for order in orders for step in order.plan.faults)
    reports: list[Report] = []
    brokers = max(order.plan.brokers for order in orders)
    with (
        _with_pipelines(pipelines, layout) as own,
        site(kind, own, news, components=sorted(wanted), proxied=proxied, brokers=brokers) as place,
    ):
        for order, name, pipeline in zip(orders, names, pipelines, strict=True):
            if reports:
                for component in sorted(wanted):
                    place.restart(component)  # what the plan before has left dead
            reports.append(_run(order, pipeline, name, place, seed=seed, news=news, kind=kind))
            done(order, reports[-1])
    return reports


def _run(
    order: Order,
    pipeline: Pipeline,
    name: str,
    place: Site,
    *,
    seed: int,
    news: News,
    kind: StackKind,
) -> Report:
    """Run one plan on the stack that is there."""
    began_s, plan = time.time(), order.plan
    history_file = order.folder / "history.jsonl"
    history_file.unlink(missing_ok=True)
    history = History(path=history_file)
    commit = _commit()
    history.note(0.0, "start", plan=plan.name, seed=seed, commit=commit, run=name)
    job = Target(pipeline, order.pipeline, place.seen, name, plan.workload.max_offsets)
    siege = Siege(plan, job, place, history, began_s, random.Random(seed), news)
    siege.run()
    news("comparing with the definition")
    found = _judge(plan, job, history, siege, place.look().kafka_bootstrap)
    command = f"slackwater chaos run {order.file} --seed {seed}"
    command += "" if kind == "local" else f" --stack {kind}"
    began = datetime.fromtimestamp(began_s, UTC).isoformat(timespec="seconds")
    return Report(plan, seed, command, commit, began, history, found)


def _own_pipeline(order: Order, name: str) -> Pipeline:
    return workload.own_pipeline(order.pipeline, name, topic=f"{order.plan.name}-{name}")


@contextmanager
def _with_pipelines(pipelines: Sequence[Pipeline], layout: Layout) -> Iterator[Layout]:
    """A layout whose Airflow knows these pipelines, and no others, as long as they are broken."""
    with tempfile.TemporaryDirectory(prefix="slackwater-pipelines-") as place:
        Path(place).chmod(0o755)  # in a container, Airflow is another user
        for pipeline in pipelines:
            (Path(place) / f"{pipeline.name}.yml").write_text(pipeline.text, encoding="utf-8")
        yield replace(layout, pipelines=Path(place).resolve())


def _judge(
    plan: Plan, job: Target, history: History, siege: Siege, bootstrap: str
) -> tuple[Check, ...]:
    """All checks of the plan; the clean run for one of them goes on beside the others."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        state: Future[Check] | None = None
        if "state" in plan.checks and siege.drained is not None:
            state = pool.submit(same_state, job, siege.drained, bootstrap)
        found = [checks.took_effect(history, len(plan.faults) * plan.rounds)]
        found += _judge_output(plan, job, history, siege, bootstrap)
        if state is not None:
            found.append(state.result())
        elif "state" in plan.checks and siege.scene.log is None:
            detail = "the run did not take in all of its log: nothing to compare"
            found.append(Check("state", Outcome.unknown, detail))
    return tuple(sorted(found, key=lambda check: _place(plan, check)))


def _place(plan: Plan, check: Check) -> int:
    """Where a check stands: that of the evidence first, the others as the plan lists them."""
    names: tuple[str, ...] = plan.checks
    return names.index(check.name) if check.name in names else -1


def _judge_output(
    plan: Plan, job: Target, history: History, siege: Siege, bootstrap: str
) -> list[Check]:
    """The checks that need history, log and tables only."""
    pipeline = job.accepted
    note_tables(history, job.table, pipeline, job.run)
    output = read_tables(job.table, pipeline, job.run)
    log: list[LogEntry]
    if siege.scene.log is None:
        log = [*read_topics(bootstrap, pipeline.source)]
    else:
        # Records are gone since; the answer up to what the job has committed must be right.
        _, read = committed_offsets(job.checkpoint)
        log = [one for one in siege.scene.log if one.offset < read.get(one.partition, 0)]
    verdict = with_records(verify(pipeline, log, output), pipeline, log)
    source = pipeline.source
    lanes = {
        source.lane(number): source.begins_at(number, source.event_time.field)
        for number in range(source.partitions)
    }
    found: list[Check] = []
    for name in plan.checks:
        match name:
            case "deterministic":
                found.append(checks.deterministic(verdict))
            case "exactly_once":
                found.append(checks.exactly_once(verdict))
            case "progress":
                found.append(checks.progress(history, lanes))
            case "poison" if any(step.fault in _POISONS for step in plan.faults):
                found.append(checks.poison(siege.poison, output))
            case "recovered":
                found.append(checks.recovered(history, plan.recovery.within_us / 1e6))
            case "one_job" if any(history.of("deployed")):
                found.append(checks.one_job(history))
            case "named" if any(history.of("named")):
                found.append(checks.named(history))
    return found


def _commit() -> str:
    """The commit of the checkout; empty where there is no git."""
    try:
        told = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return ""
    return told.stdout.strip()
