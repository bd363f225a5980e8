"""Run plans on a stack: workload, faults, history, checks.

The job is real and supervised, the faults are real, and the judge sees only the log, the tables
and the files of the checkpoint. Victims and moments are drawn from the seed.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from chaos.faults import FAULTS
from chaos.faults.kind import StackKind
from chaos.history import History
from chaos.plan import Plan
from chaos.run.fault_run import FaultRun
from chaos.run.job_handle import JobHandle
from chaos.run.judgement import judge
from chaos.run.stack_under_test import News, StackUnderTest, stack_under_test
from chaos.verdict.check import Check, Outcome, merged
from chaos.workload.feed import cut, in_its_lanes
from chaos.workload.own_pipeline import own_pipeline
from chaos.workload.records import WorkloadRecord
from infra.layout import ROOT, Layout
from windowing.model import Pipeline, load_pipeline


@dataclass(frozen=True)
class RunReport:
    """The report of a run.

    Attributes:
        commit: the commit of the checkout, or empty.
        began: start time, ISO 8601.
        checks: `took effect` first, the others in the order of the plan.
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
        """The worst outcome of the checks."""
        return merged(self.checks)


@dataclass(frozen=True)
class PreparedPlan:
    """A plan that is ready to run.

    Attributes:
        file: the plan file; the pipeline's path is relative to it.
        folder: an existing folder for `history.jsonl`.
        records: the records to send, without the ends of partitions.
    """

    plan: Plan
    file: Path
    folder: Path
    records: Sequence[WorkloadRecord]

    @property
    def pipeline(self) -> Path:
        """The pipeline file."""
        return self.file.parent / self.plan.pipeline


def run_plans(
    orders: Sequence[PreparedPlan],
    *,
    seed: int,
    layout: Layout,
    news: News,
    kind: StackKind = "local",
    done: Callable[[PreparedPlan, RunReport], None] = lambda order, report: None,
) -> list[RunReport]:
    """Run plans one after another on their own stack, and stop the stack.

    Each plan has its own job, topics and tables. If any of them needs Airflow, several brokers or
    a proxied broker, the stack provides them for all.

    Args:
        orders: the plans, at least one.
        layout: where the stack's state lives; a stack already running there is used, and stopped.

    Raises:
        InfraError: the stack does not start, or does not become healthy between two plans.
        PipelineError: a pipeline file breaks a rule.
    """
    stamp = f"chaos-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    names = [stamp] if len(orders) == 1 else [f"{stamp}-{n}" for n, _ in enumerate(orders, 1)]
    pipelines = [_own_pipeline(*named) for named in zip(orders, names, strict=True)]
    wanted = {name for order in orders for name in order.plan.components}
    proxied = any(FAULTS[step.fault].proxied for order in orders for step in order.plan.faults)
    reports: list[RunReport] = []
    brokers = max(order.plan.brokers for order in orders)
    with (
        _with_pipelines(pipelines, layout) as own,
        stack_under_test(
            kind, own, news, components=sorted(wanted), proxied=proxied, brokers=brokers
        ) as place,
    ):
        for order, name, pipeline in zip(orders, names, pipelines, strict=True):
            if reports:
                for component in sorted(wanted):
                    place.restart(component)  # the plan before may have left it dead
            reports.append(_run(order, pipeline, name, place, seed=seed, news=news, kind=kind))
            done(order, reports[-1])
    return reports


def _run(
    order: PreparedPlan,
    pipeline: Pipeline,
    name: str,
    place: StackUnderTest,
    *,
    seed: int,
    news: News,
    kind: StackKind,
) -> RunReport:
    began_s, plan = time.time(), order.plan
    history_file = order.folder / "history.jsonl"
    history_file.unlink(missing_ok=True)
    history = History(path=history_file)
    commit = commit_here()
    history.note(0.0, "start", plan=plan.name, seed=seed, commit=commit, run=name)
    settings = {setting: str(value) for setting, value in plan.spark.items()}
    job = JobHandle(pipeline, order.pipeline, place.seen, name, plan.workload.max_offsets, settings)
    part = cut(order.records, pipeline, plan.reserve)
    part = in_its_lanes(part, load_pipeline(order.pipeline), pipeline)
    fault_run = FaultRun(plan, job, place, history, began_s, random.Random(seed), news, part)
    fault_run.run()
    news("comparing with the definition")
    found = judge(fault_run, place.look().kafka_bootstrap).checks
    command = f"slackwater chaos run {order.file} --seed {seed}"
    command += "" if kind == "local" else f" --stack {kind}"
    began = datetime.fromtimestamp(began_s, UTC).isoformat(timespec="seconds")
    return RunReport(plan, seed, command, commit, began, history, found)


def _own_pipeline(order: PreparedPlan, name: str) -> Pipeline:
    return own_pipeline(order.pipeline, name, topic=f"{order.plan.name}-{name}")


@contextmanager
def _with_pipelines(pipelines: Sequence[Pipeline], layout: Layout) -> Iterator[Layout]:
    """Provide a layout whose Airflow knows exactly these pipelines."""
    with tempfile.TemporaryDirectory(prefix="slackwater-pipelines-") as place:
        Path(place).chmod(0o755)  # in a container, Airflow is another user
        for pipeline in pipelines:
            (Path(place) / f"{pipeline.name}.yml").write_text(pipeline.text, encoding="utf-8")
        yield replace(layout, pipelines=Path(place).resolve())


def commit_here() -> str:
    """Return the commit of the checkout; empty without git."""
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return ""
    return answer.stdout.strip()
