"""Runs a plan on a stack: workload, faults, history, checks.

The job is a real one under supervision, the faults are real, and the judge sees the log, the tables
and the files of the checkpoint only. Victims and moments are drawn from the seed.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import time
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
from chaos.site import News, StackKind, site
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
    """Run a plan on a stack of its own, and stop the stack.

    Args:
        plan: the plan.
        file: where it stands; the pipeline is found from there.
        seed: of victims and moments.
        layout: where the stack's state lies; another's stack there is used, and stopped.
        folder: an existing folder, gets `history.jsonl`.
        news: told what happens.
        kind: of processes on this machine, or of containers.

    Raises:
        InfraError: the stack does not start.
        PipelineError: the pipeline file breaks a rule.
    """
    began_s = time.time()
    name = f"chaos-{datetime.fromtimestamp(began_s, UTC):%Y%m%d-%H%M%S}"
    pipeline_file = file.parent / plan.pipeline
    topic = f"{plan.name}-{name}"
    pipeline = workload.own_pipeline(pipeline_file, name, topic=topic)
    history_file = folder / "history.jsonl"
    history_file.unlink(missing_ok=True)
    history = History(path=history_file)
    commit = _commit()
    history.note(0.0, "start", plan=plan.name, seed=seed, commit=commit, run=name)
    proxied = any(FAULTS[step.fault].proxied for step in plan.faults)
    layout = _with_pipeline(pipeline, layout, folder)
    with site(kind, layout, news, components=plan.components, proxied=proxied) as place:
        job = Target(pipeline, pipeline_file, place.seen, name, plan.workload.max_offsets)
        siege = Siege(plan, job, place, history, began_s, random.Random(seed), news)
        siege.run()
        news("comparing with the definition")
        found = _judge(plan, job, history, siege, place.look().kafka_bootstrap)
    command = f"slackwater chaos run {file} --seed {seed}"
    command += "" if kind == "local" else f" --stack {kind}"
    began = datetime.fromtimestamp(began_s, UTC).isoformat(timespec="seconds")
    return Report(plan, seed, command, commit, began, history, found)


def _with_pipeline(pipeline: Pipeline, layout: Layout, folder: Path) -> Layout:
    """A layout whose Airflow knows this pipeline, and no other."""
    pipelines = folder.resolve() / "pipelines"
    shutil.rmtree(pipelines, ignore_errors=True)
    pipelines.mkdir()
    (pipelines / f"{pipeline.name}.yml").write_text(pipeline.text, encoding="utf-8")
    return replace(layout, pipelines=pipelines)


def _judge(
    plan: Plan, job: Target, history: History, siege: Siege, bootstrap: str
) -> tuple[Check, ...]:
    pipeline = job.pipeline
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
    lanes = [pipeline.source.lane(number) for number in range(pipeline.source.partitions)]
    found = [checks.took_effect(history, len(plan.faults) * plan.rounds)]
    for name in plan.checks:
        match name:
            case "deterministic":
                found.append(checks.deterministic(verdict))
            case "exactly_once":
                found.append(checks.exactly_once(verdict))
            case "state" if siege.drained is not None:
                found.append(same_state(job, siege.drained))
            case "state" if siege.scene.log is None:
                detail = "the run did not take in all of its log: nothing to compare"
                found.append(Check("state", Outcome.unknown, detail))
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
    return tuple(found)


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
