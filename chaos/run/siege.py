"""The faults of a plan, one after another, on a running job; what happens goes to the history."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from functools import partial

from chaos.errors import FaultDidNotApply, Unsupported
from chaos.faults.catalogue import FAULTS, fault_named
from chaos.faults.fault import Attack, Deployable, Poisoned, Scene
from chaos.history import History
from chaos.plan import Expected, Plan, Step
from chaos.run.clean_run import Drained
from chaos.run.site import News, Site
from chaos.run.target import Target
from chaos.run.watch import JobFailed, Watch
from chaos.workload.feed import Feed, send_body, send_ends, send_reserve
from jobs.brokers.broker import BrokerError
from jobs.runs import committed_offsets


@dataclass
class Siege:
    """The faults of a plan, one after another, on a running job.

    Attributes:
        plan: which faults.
        job: on which job.
        site: the stack that it runs on.
        history: where all is noted.
        began_s: when the run began, in seconds since 1970.
        rng: draws victims and moments.
        news: told what happens.
        part: what is sent, and when.
        drained: when the job had taken in all but the log's ends; None before.
    """

    plan: Plan
    job: Target
    site: Site
    history: History
    began_s: float
    rng: random.Random
    news: News
    part: Feed
    scene: Scene = field(init=False)
    watch: Watch = field(init=False)
    drained: Drained | None = field(default=None, init=False)
    _sent: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        checkpoint = self.job.checkpoint
        self.watch = Watch(checkpoint, self.history, self.began_s, self.job.dead)
        self.scene = Scene(
            endpoints=self.site.look(),
            pipeline=self.job.pipeline,
            topic=self.job.pipeline.source.topic,
            checkpoint=checkpoint,
            reach=self.site.reach,
            rng=self.rng,
            stop_job=self.job.stop,
            submit_job=self.job.submit,
            tables=self.job.table,
            restart=self.site.restart,
            job_error=self.job.dead,
            proxy=self.site.proxy,
            deployable=self._deployable,
            release=self._release,
        )

    @property
    def poison(self) -> list[Poisoned]:
        """What was sent to be refused."""
        return self.scene.poison

    def run(self) -> None:
        """Send the workload, strike, send the ends, wait for the last batch, stop the job."""
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
        self.history.note(self.watch.now(), "sent", total=self._sent)
        self.news(f"{self._sent} records sent, job submitted")
        self.job.submit()

    def close(self, state: str) -> None:
        """Stop the job, and note how the run ended."""
        self.job.stop()
        self.watch.look()
        self.history.note(self.watch.now(), "end", state=state)
        self.news(f"job stopped, {self.watch.batches} batches: {state}")

    def bring_to_end(self) -> str:
        """Send what is left of the log, and wait until all of it is committed."""
        if any(FAULTS[step.fault].ends == "run" for step in self.plan.faults):
            return "over with its last fault"
        if not self._finish(self._total()):
            return "not drained in time"
        self.drained = Drained(self.watch.batches - 1, self._committed())
        self._sent += send_ends(self.job.pipeline, self._bootstrap, self.part)
        total = self._total()
        self.history.note(self.watch.now(), "sent", total=total)
        self.news(f"all faults done; {total - self.watch.offsets} offsets to go")
        return "done" if self._finish(total) else "not done in time"

    def _finish(self, total: int) -> bool:
        """Wait until all is committed, as long as there is progress."""
        while self.watch.offsets < total:
            if not self._await_batches(self.watch.batches + 1):
                return False
        return True

    def _committed(self) -> dict[int, int]:
        """Per lane, the next offset."""
        return committed_offsets(self.job.checkpoint, self.job.accepted.source)[1]

    def _total(self) -> int:
        """How many records the topic has."""
        return self._sent + sum(self.scene.sent.values())

    def _strike_all(self) -> bool:
        steps = list(self.plan.faults) * self.plan.rounds
        if self.plan.order == "seeded":
            self.rng.shuffle(steps)
        return all(self.strike(number, step) for number, step in enumerate(steps))

    def strike(self, number: int, step: Step) -> bool:
        """Wait for a fault's batches, and carry it out; false where the job does not come back.

        Args:
            number: of the fault in this run, from 0.
            step: the fault.

        Raises:
            JobFailed: the job gave up.
        """
        if not self._await_batches(self.watch.batches + step.after):
            return False
        self.watch.pause(self.rng.uniform(0, self.plan.jitter_us / 1e6))
        if not self._strike(number, step):
            return False
        self.history.note(self.watch.now(), "sent", total=self._total())
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
        began_s, batches = self.watch.now(), self.watch.batches
        over_s = self._carry_out(attack, about, step.expect)
        if FAULTS[step.fault].ends == "run":
            return True
        since_s = began_s if FAULTS[step.fault].ends == "itself" else over_s
        return self._await_recovery(about, since_s, batches)

    def _carry_out(
        self, attack: Attack, about: dict[str, object], expected: Expected | None
    ) -> float:
        """Inject, hold, heal, and note what was seen; gives when the cure began."""
        at_s, batches = self.watch.now(), self.watch.batches
        named, deployed = len(self.scene.named), len(self.scene.deployed)
        number, name = int(str(about["fault"])) + 1, about["name"]
        over_s = at_s
        try:
            try:
                evidence = attack.inject(self.scene)
                self.history.note(at_s, "fault", **about, evidence=evidence, batches=batches)
                self.news(f"[{number}] {name}: {evidence}")
                self.watch.pause(attack.hold_s)
            finally:
                over_s = self.watch.now()
                healed = attack.heal(self.scene)
        except Unsupported as error:
            self.history.note(self.watch.now(), "unsupported", **about, why=str(error))
            self.news(f"[{number}] {name} cannot be done here: {error}")
        except (FaultDidNotApply, BrokerError) as error:
            self.history.note(self.watch.now(), "no_effect", **about, why=str(error))
            self.news(f"[{number}] {name} did not take effect: {error}")
            over_s = self.watch.now()
        else:
            self.history.note(self.watch.now(), "healed", **about, evidence=healed)
        for one in self.scene.named[named:]:
            facts = {"wanted": one.wanted, "said": one.said, "missing": one.missing}
            self.history.note(over_s, "named", **about, **facts, expected=expected)
            self.news(f"    it said: {one.said}")
        for came_of_it in self.scene.deployed[deployed:]:
            self.history.note(over_s, "deployed", **about, **asdict(came_of_it))
        return over_s

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

    @property
    def _deployable(self) -> Deployable | None:
        if not self.site.look().airflow_url:
            return None
        return Deployable(self.job.pipeline.name, self.job.run, self.plan.workload.max_offsets)

    @property
    def _bootstrap(self) -> str:
        return self.site.look().kafka_bootstrap

    def _release(self, partitions: Collection[int]) -> dict[int, int]:
        sent = send_reserve(self.job.pipeline, self._bootstrap, self.part, partitions)
        self.scene.note_sent(sent)
        self.history.note(self.watch.now(), "sent", total=self._total())
        return sent
