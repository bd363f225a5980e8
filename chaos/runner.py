"""Runs a plan on the local stack: workload, faults, history, checks.

The job is a real one under supervision, the faults are real, and the judge sees the log, the tables
and the files of the checkpoint only. Victims and moments are drawn from the seed.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from chaos import checks, workload
from chaos.checks import Check, Outcome
from chaos.faults.catalogue import fault_named
from chaos.faults.cluster import SETTINGS
from chaos.faults.fault import FaultDidNotApply, Poisoned, Scene
from chaos.faults.reach import LocalReach
from chaos.history import History
from chaos.log import read_topic
from chaos.output import read_tables
from chaos.plan import Plan, Step
from chaos.table_history import note_tables
from chaos.verify import verify
from chaos.watch import JobFailed, Watch
from infra import spark_rest, stack
from infra.endpoints import Endpoints
from infra.layout import ROOT, Layout
from jobs import runs
from jobs.topics import BrokerError
from windowing.spec import Pipeline

News = Callable[[str], None]
"""Told in a few words what happens, for whoever waits."""

_COMPONENTS = ("kafka", "spark")


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
    plan: Plan, file: Path, *, seed: int, layout: Layout, folder: Path, news: News
) -> Report:
    """Run a plan on a stack of its own, and stop the stack.

    Args:
        plan: the plan.
        file: where it stands; the pipeline is found from there.
        seed: of victims and moments.
        layout: where the stack's state lies; another's stack there is used, and stopped.
        folder: an existing folder, gets `history.jsonl`.
        news: told what happens.

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
    with _stack(layout, news) as endpoints:
        job = _Job(plan, pipeline, pipeline_file, endpoints, name)
        siege = _Siege(plan, job, layout, history, began_s, random.Random(seed), news)
        siege.run()
        news("comparing with the definition")
        found = _judge(plan, job, history, siege.scene.poison)
    command = f"slackwater chaos run {file} --seed {seed}"
    began = datetime.fromtimestamp(began_s, UTC).isoformat(timespec="seconds")
    return Report(plan, seed, command, commit, began, history, found)


@contextmanager
def _stack(layout: Layout, news: News) -> Iterator[Endpoints]:
    def told(component: str, message: str, seconds: float) -> None:
        news(f"{component}: {message} ({seconds:.0f} s)")

    try:
        yield stack.up(told, only=_COMPONENTS, layout=layout)
    finally:
        stack.down(layout=layout)


def _judge(plan: Plan, job: _Job, history: History, sent: list[Poisoned]) -> tuple[Check, ...]:
    pipeline = job.pipeline
    note_tables(history, job.table, pipeline, job.run)
    output = read_tables(job.table, pipeline, job.run)
    log = read_topic(job.endpoints.kafka_bootstrap, pipeline.source.topic)
    verdict = verify(pipeline, log, output)
    lanes = [pipeline.source.lane(number) for number in range(pipeline.source.partitions)]
    found = [checks.took_effect(history, len(plan.faults) * plan.rounds)]
    for name in plan.checks:
        match name:
            case "deterministic":
                found.append(checks.deterministic(verdict))
            case "exactly_once":
                found.append(checks.exactly_once(verdict))
            case "progress":
                found.append(checks.progress(history, lanes))
            case "poison" if any(step.fault == "poison_records" for step in plan.faults):
                found.append(checks.poison(sent, output))
            case "recovered":
                found.append(checks.recovered(history, plan.recovery.within_us / 1e6))
    return tuple(found)


@dataclass
class _Job:
    """The job under attack."""

    plan: Plan
    pipeline: Pipeline
    file: Path
    endpoints: Endpoints
    run: str
    _submitted: runs.Run | None = None

    @property
    def folder(self) -> Path:
        return runs.folder_of(self.endpoints, self.pipeline, self.run)

    @property
    def table(self) -> Path:
        return runs.table_of(self.endpoints, self.pipeline)

    def submit(self) -> None:
        self._submitted = runs.submit(
            self.endpoints,
            self.pipeline,
            self.file,
            self.run,
            max_offsets=self.plan.workload.max_offsets,
            conf=SETTINGS,
        )

    def stop(self) -> None:
        runs.stop(self.endpoints, self.pipeline)

    def dead(self) -> str | None:
        """Why the job will do nothing more; None while it may."""
        if self._submitted is None:
            return None
        failure = self.folder / runs.FAILURE_FILE
        if failure.exists():
            return failure.read_text(encoding="utf-8")
        state = spark_rest.status(self.endpoints, self._submitted.submission_id).state
        return None if state in spark_rest.ALIVE else f"its driver is {state}"


@dataclass
class _Siege:
    """The faults of a plan, one after another, on a running job."""

    plan: Plan
    job: _Job
    layout: Layout
    history: History
    began_s: float
    rng: random.Random
    news: News
    scene: Scene = field(init=False)
    watch: Watch = field(init=False)

    def __post_init__(self) -> None:
        checkpoint = self.job.folder / "checkpoint"
        self.watch = Watch(checkpoint, self.history, self.began_s, self.job.dead)
        self.scene = Scene(
            layout=self.layout,
            endpoints=self.job.endpoints,
            topic=self.job.pipeline.source.topic,
            checkpoint=checkpoint,
            reach=LocalReach(),
            rng=self.rng,
            stop_job=self.job.stop,
            submit_job=self.job.submit,
            restart=self._restart,
        )

    def run(self) -> None:
        """Send the workload, strike, send the ends, wait for the last batch, stop the job."""
        bootstrap = self.job.endpoints.kafka_bootstrap
        part = workload.feed(self.plan.workload)
        total = workload.send_body(self.job.pipeline, bootstrap, part)
        self.history.note(self.watch.now(), "sent", total=total)
        self.news(f"{total} records sent, job submitted")
        self.job.submit()
        state = "broken off"
        try:
            if self._strike_all(total):
                total += sum(self.scene.sent.values())
                total += workload.send_ends(self.job.pipeline, bootstrap, part)
                self.history.note(self.watch.now(), "sent", total=total)
                self.news(f"all faults done; {total - self.watch.offsets} offsets to go")
                state = "done" if self._finish(total) else "not done in time"
        except JobFailed as error:
            state = f"the job failed: {error}"
        self.job.stop()
        self.watch.look()
        self.history.note(self.watch.now(), "end", state=state)
        self.news(f"job stopped, {self.watch.batches} batches: {state}")

    def _finish(self, total: int) -> bool:
        """Wait until all is committed, as long as there is progress."""
        while self.watch.offsets < total:
            if not self._await_batches(self.watch.batches + 1):
                return False
        return True

    def _strike_all(self, total: int) -> bool:
        steps = list(self.plan.faults) * self.plan.rounds
        if self.plan.order == "seeded":
            self.rng.shuffle(steps)
        for number, step in enumerate(steps):
            if not self._await_batches(self.watch.batches + step.after):
                return False
            self.watch.pause(self.rng.uniform(0, self.plan.jitter_us / 1e6))
            if not self._strike(number, step):
                return False
            sent = total + sum(self.scene.sent.values())
            self.history.note(self.watch.now(), "sent", total=sent)
        return True

    def _await_batches(self, target: int) -> bool:
        """Wait until so many batches are committed; false where the job stands still."""
        while (before := self.watch.batches) < target:
            if not self.watch.until(partial(self._more_than, before), self._give_up_s):
                about = {"fault": -1, "name": "before any fault"}
                self.history.note(self.watch.now(), "stuck", **about, seconds=self._give_up_s)
                return False
        return True

    def _more_than(self, batches: int) -> bool:
        return self.watch.batches > batches

    @property
    def _give_up_s(self) -> float:
        return float(self.plan.give_up_us / 1e6)

    def _strike(self, number: int, step: Step) -> bool:
        """One fault, from injection to recovery; false where the job does not come back."""
        hold_s = None if step.hold_us is None else step.hold_us / 1e6
        attack = fault_named(step.fault, hold_s=hold_s, records=step.records)
        about: dict[str, object] = {"fault": number, "name": step.fault}
        at_s, batches = self.watch.now(), self.watch.batches
        try:
            try:
                evidence = attack.inject(self.scene)
                self.history.note(at_s, "fault", **about, evidence=evidence, batches=batches)
                self.news(f"[{number + 1}] {step.fault}: {evidence}")
                self.watch.pause(attack.hold_s)
            finally:
                over_s = self.watch.now()
                healed = attack.heal(self.scene)
        except (FaultDidNotApply, BrokerError) as error:
            self.history.note(self.watch.now(), "no_effect", **about, why=str(error))
            self.news(f"[{number + 1}] {step.fault} did not take effect: {error}")
            over_s = self.watch.now()
        else:
            if attack.hold_s == 0:
                over_s = at_s
            self.history.note(self.watch.now(), "healed", **about, evidence=healed)
        return self._await_recovery(about, over_s, batches)

    def _await_recovery(self, about: dict[str, object], over_s: float, batches: int) -> bool:
        if not self.watch.until(
            lambda: self.watch.fresh_batch(over_s) is not None, self._give_up_s
        ):
            self.history.note(self.watch.now(), "stuck", **about, seconds=self._give_up_s)
            self.news(f"no new batch for {self._give_up_s:.0f} s: broken off")
            return False
        batch, at_s = self.watch.fresh_batch(over_s) or (0, 0.0)
        took_s, passed = at_s - over_s, batch - batches + 1
        self.history.note(at_s, "recovered", **about, batch=batch, seconds=took_s, batches=passed)
        self.news(f"    a new batch after {took_s:.1f} s")
        return True

    def _restart(self, component: str) -> None:
        stack.up(only=[component], layout=self.layout)


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
