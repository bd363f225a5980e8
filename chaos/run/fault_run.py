"""Inject the faults of a plan into a running job, one after another, and record a history."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from functools import partial

from chaos.errors import FaultDidNotApply, Unsupported
from chaos.faults import FAULTS, fault_named
from chaos.faults.fault import DeployableJob, Fault, FaultContext, PoisonedRecord
from chaos.history import History
from chaos.plan import Expected, Plan, PlannedFault
from chaos.run.commit_watcher import CommitWatcher, JobFailed
from chaos.run.job_handle import DrainedLog, JobHandle
from chaos.run.stack_under_test import News, StackUnderTest
from chaos.workload.feed import Feed, send_body, send_ends, send_reserve
from jobs.brokers.broker import BrokerError
from jobs.runs import committed_offsets


@dataclass
class FaultRun:
    """A run of a plan: its faults, injected one after another into a running job.

    Attributes:
        began_s: start of the run, in seconds since 1970.
        part: the records to send, in parts.
        drained: when the job had read everything but the `end` records; None until then.
    """

    plan: Plan
    job: JobHandle
    stack: StackUnderTest
    history: History
    began_s: float
    rng: random.Random
    news: News
    part: Feed
    context: FaultContext = field(init=False)
    watcher: CommitWatcher = field(init=False)
    drained: DrainedLog | None = field(default=None, init=False)
    _sent: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        checkpoint = self.job.checkpoint
        self.watcher = CommitWatcher(checkpoint, self.history, self.began_s, self.job.failure)
        self.context = FaultContext(
            endpoints=self.stack.look(),
            pipeline=self.job.pipeline,
            topic=self.job.pipeline.source.topic,
            checkpoint=checkpoint,
            nodes=self.stack.nodes,
            rng=self.rng,
            stop_job=self.job.stop,
            submit_job=self.job.submit,
            tables=self.job.table,
            restart=self.stack.restart,
            job_error=self.job.failure,
            proxy=self.stack.proxy,
            deployable=self._deployable,
            release=self._release,
        )

    @property
    def poison(self) -> list[PoisonedRecord]:
        """The records sent so far that the job must reject."""
        return self.context.poison

    def run(self) -> None:
        """Send the workload, inject all faults, send the ends, await the last batch, stop."""
        self.begin()
        state = "broken off"
        try:
            if self._strike_all():
                state = self.bring_to_end()
        except JobFailed as error:
            state = f"the job failed: {error}"
        self.close(state)

    def begin(self) -> None:
        """Send the body of the log, and submit the job.

        Raises:
            BrokerError: no broker answers.
        """
        self._sent = send_body(self.job.pipeline, self._bootstrap, self.part)
        self.history.note(self.watcher.now(), "sent", total=self._sent)
        self.news(f"{self._sent} records sent, job submitted")
        self.job.submit()

    def close(self, state: str) -> None:
        """Stop the job, and record how the run ended."""
        self.job.stop()
        self.watcher.look()
        self.history.note(self.watcher.now(), "end", state=state)
        self.news(f"job stopped, {self.watcher.batches} batches: {state}")

    def bring_to_end(self) -> str:
        """Send the rest of the log, wait until it is all committed, and return the final state."""
        if any(FAULTS[step.fault].ends == "run" for step in self.plan.faults):
            return "over with its last fault"
        if not self._finish(self._total()):
            return "not drained in time"
        batches, ends = committed_offsets(self.job.checkpoint, self.job.accepted.source)
        self.drained = DrainedLog(batches - 1, ends)
        self._sent += send_ends(self.job.pipeline, self._bootstrap, self.part)
        total = self._total()
        self.history.note(self.watcher.now(), "sent", total=total)
        self.news(f"all faults done; {total - self.watcher.offsets} offsets to go")
        return "done" if self._finish(total) else "not done in time"

    def _finish(self, total: int) -> bool:
        """Wait until `total` offsets are committed; return False if the job makes no progress."""
        while self.watcher.offsets < total:
            if not self._await_batches(self.watcher.batches + 1):
                return False
        return True

    def _total(self) -> int:
        return self._sent + sum(self.context.sent.values())

    def _strike_all(self) -> bool:
        steps = list(self.plan.faults) * self.plan.rounds
        if self.plan.order == "seeded":
            self.rng.shuffle(steps)
        return all(self.strike(number, step) for number, step in enumerate(steps))

    def strike(self, number: int, step: PlannedFault) -> bool:
        """Wait for the batches before a fault, and run it; return whether the job recovers.

        Raises:
            JobFailed: the job gave up.
        """
        if not self._await_batches(self.watcher.batches + step.after):
            return False
        self.watcher.pause(self.rng.uniform(0, self.plan.jitter_us / 1e6))
        if not self._strike(number, step):
            return False
        self.history.note(self.watcher.now(), "sent", total=self._total())
        return True

    def _await_batches(self, target: int) -> bool:
        """Wait until `target` batches are committed; return False if the job makes no progress."""
        while (before := self.watcher.batches) < target:
            if not self.watcher.until(partial(self._more_than, before), self._give_up_s):
                about = {"fault": -1, "name": "before any fault"}
                self.history.note(self.watcher.now(), "stuck", **about, seconds=self._give_up_s)
                return False
        return True

    def _more_than(self, batches: int) -> bool:
        return self.watcher.batches > batches

    @property
    def _give_up_s(self) -> float:
        return float(self.plan.give_up_us / 1e6)

    def _strike(self, number: int, step: PlannedFault) -> bool:
        """Run a fault from injection to recovery; return False if the job does not recover."""
        hold_s = None if step.hold_us is None else step.hold_us / 1e6
        fault = fault_named(step.fault, hold_s=hold_s, records=step.records)
        about: dict[str, object] = {"fault": number, "name": step.fault}
        began_s, batches = self.watcher.now(), self.watcher.batches
        over_s = self._carry_out(fault, about, step.expect)
        if FAULTS[step.fault].ends == "run":
            return True
        since_s = began_s if FAULTS[step.fault].ends == "itself" else over_s
        return self._await_recovery(about, since_s, batches)

    def _carry_out(
        self, fault: Fault, about: dict[str, object], expected: Expected | None
    ) -> float:
        """Inject, hold and heal a fault, recording what happens; return when healing began."""
        at_s, batches = self.watcher.now(), self.watcher.batches
        named, deployed = len(self.context.losses), len(self.context.deployments)
        number, name = int(str(about["fault"])) + 1, about["name"]
        over_s = at_s
        try:
            try:
                evidence = fault.inject(self.context)
                self.history.note(at_s, "fault", **about, evidence=evidence, batches=batches)
                self.news(f"[{number}] {name}: {evidence}")
                self.watcher.pause(fault.hold_s)
            finally:
                over_s = self.watcher.now()
                healed = fault.heal(self.context)
        except Unsupported as error:
            self.history.note(self.watcher.now(), "unsupported", **about, why=str(error))
            self.news(f"[{number}] {name} cannot be done here: {error}")
        except (FaultDidNotApply, BrokerError) as error:
            self.history.note(self.watcher.now(), "no_effect", **about, why=str(error))
            self.news(f"[{number}] {name} did not take effect: {error}")
            over_s = self.watcher.now()
        else:
            self.history.note(self.watcher.now(), "healed", **about, evidence=healed)
        for one in self.context.losses[named:]:
            facts = {"wanted": one.wanted, "said": one.said, "missing": one.missing}
            self.history.note(over_s, "named", **about, **facts, expected=expected)
            self.news(f"    it said: {one.said}")
        for outcome in self.context.deployments[deployed:]:
            self.history.note(over_s, "deployed", **about, **asdict(outcome))
        return over_s

    def _await_recovery(self, about: dict[str, object], over_s: float, batches: int) -> bool:
        if not self.watcher.until(
            lambda: self.watcher.fresh_batch(over_s) is not None, self._give_up_s
        ):
            self.history.note(self.watcher.now(), "stuck", **about, seconds=self._give_up_s)
            self.news(f"no new batch for {self._give_up_s:.0f} s: broken off")
            return False
        batch, at_s = self.watcher.fresh_batch(over_s) or (0, 0.0)
        took_s, passed = at_s - over_s, batch - batches + 1
        self.history.note(at_s, "recovered", **about, batch=batch, seconds=took_s, batches=passed)
        self.news(f"    a new batch after {took_s:.1f} s")
        return True

    @property
    def _deployable(self) -> DeployableJob | None:
        if not self.stack.look().airflow_url:
            return None
        return DeployableJob(self.job.pipeline.name, self.job.run, self.plan.workload.max_offsets)

    @property
    def _bootstrap(self) -> str:
        return self.stack.look().kafka_bootstrap

    def _release(self, partitions: Collection[int]) -> dict[int, int]:
        sent = send_reserve(self.job.pipeline, self._bootstrap, self.part, partitions)
        self.context.note_sent(sent)
        self.history.note(self.watcher.now(), "sent", total=self._total())
        return sent
