"""The life of a run: its states, and how facts determine them.

A pure function of facts read elsewhere: the run's notes, what the master says about the driver,
what the driver has recorded. So a state is never stored, and cannot be out of date. The diagram is
in `jobs/README.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

DEATHS_MAX = 3
"""How often a job may die of its own errors without a batch in between before it has failed."""

SILENT_DEATHS_MAX = 10
"""How often its processes may die without a message: killed from outside, or out of memory."""

ALIVE = frozenset({"SUBMITTED", "RUNNING", "RELAUNCHING"})
"""A driver's states at the master in which it is active, or will be."""


class State(StrEnum):
    """The state of a run."""

    submitted = "submitted"
    waiting = "waiting"
    running = "running"
    restarting = "restarting"
    failed = "failed"
    stopping = "stopping"
    stopped = "stopped"
    superseded = "superseded"
    finished = "finished"

    @property
    def ended(self) -> bool:
        """Whether nothing more happens until a user submits or starts the run."""
        return self in _ENDED


_ENDED = frozenset({State.failed, State.stopped, State.superseded, State.finished})


@dataclass(frozen=True)
class Deaths:
    """Deaths of the drivers of a submission since one of them was last healthy.

    Attributes:
        error: deaths from one of the job's own errors, with a report.
        silent: deaths without a message: killed, or out of memory.
        outage: deaths from an outage, such as of a broker; restarts are unlimited.
        last: the cause of the last death; None: it left no message.
    """

    error: int = 0
    silent: int = 0
    outage: int = 0
    last: str | None = None

    @property
    def number(self) -> int:
        """Total number of deaths."""
        return self.error + self.silent + self.outage

    @property
    def final(self) -> str | None:
        """The reason why another restart would not help; None: it may."""
        last = self.last or "it left no word: killed from outside, or out of memory"
        if self.error >= DEATHS_MAX:
            return f"died {self.error} times without a batch in between, the last time of: {last}"
        if self.silent >= SILENT_DEATHS_MAX:
            return f"was killed {self.silent} times without a batch in between: {last}"
        return None


@dataclass(frozen=True)
class Order:
    """An order for a run to stop.

    Attributes:
        by: the run that takes its place; None: a user has stopped it.
    """

    by: str | None = None


@dataclass(frozen=True)
class Facts:
    """The facts about a run.

    Attributes:
        driver: the driver's state at the master; None: there is no master, since the stack is down.
        failure: why the job gave up, in its own words; None: it did not.
        order: the order to stop, if given since it was submitted.
        available_now: whether it ends after reading the existing records.
        begun: number of drivers of this submission that have reached our program.
        well: whether the current driver has committed a batch, or has found nothing to do.
        deaths: deaths of its drivers.
        launches: number of drivers started by the cluster that never reached our program.
        last_words: the last error in such a driver's output; None: there is none.
        batches: number of batches that the run has committed, before this submission, too.
        doing: what its driver does before its next batch; None: unknown.
        lacks: the resource that it waits for, and its holder; None: it waits for nothing.
    """

    driver: str | None
    failure: str | None = None
    order: Order | None = None
    available_now: bool = False
    begun: int = 0
    well: bool = False
    deaths: Deaths = field(default_factory=Deaths)
    launches: int = 0
    last_words: str | None = None
    lacks: str | None = None
    batches: int = 0
    doing: str | None = None


@dataclass(frozen=True)
class Life:
    """The state of a run.

    Attributes:
        why: a sentence; for a waiting run, what it waits for; for a failed one, the reason.
    """

    state: State
    why: str | None = None


def life(facts: Facts) -> Life:
    """Determine the state of a run.

    Args:
        facts: an order outweighs a failure, and a failure outweighs what the cluster reports.
    """
    if facts.order is not None:
        return _ordered(facts.order, facts.driver in ALIVE)
    if facts.failure is not None:
        return Life(State.failed, facts.failure)
    if facts.driver in ALIVE:
        return _alive(facts)
    return _gone(facts)


def _ordered(order: Order, alive: bool) -> Life:
    if alive:
        return Life(State.stopping, "its driver has been told to end")
    if order.by is not None:
        return Life(State.superseded, f"run {order.by} has taken its place")
    return Life(State.stopped, None)


def _alive(facts: Facts) -> Life:
    # A driver killed at its start leaves no message; one that cannot start says why.
    most = DEATHS_MAX if facts.last_words else SILENT_DEATHS_MAX
    if facts.begun == 0 and facts.launches >= most:
        words = facts.last_words or "it left no word"
        return Life(
            State.failed,
            f"its driver was started {facts.launches} times and never came to our program: {words}",
        )
    if (final := facts.deaths.final) is not None:
        return Life(State.failed, f"its driver {final}")
    if facts.lacks is not None and not facts.well:
        return Life(State.waiting, facts.lacks)
    if facts.driver == "RELAUNCHING":
        return Life(State.restarting, "its worker was lost: the driver is started on another one")
    if facts.driver == "RUNNING" and facts.well:
        return Life(State.running)
    if facts.deaths.number or facts.launches > 1:
        return Life(State.restarting, _restarts(facts))
    if facts.driver == "SUBMITTED":
        return Life(State.submitted, "no worker has started its driver yet")
    to = f"batch {facts.batches}, where it resumes" if facts.batches else "its first batch"
    doing = f": {facts.doing}" if facts.doing else ""
    return Life(State.submitted, f"its driver is on its way to {to}{doing}")


def _restarts(facts: Facts) -> str:
    deaths = facts.deaths
    if not deaths.number:
        if facts.last_words:
            return f"start {facts.launches} of {DEATHS_MAX}: {facts.last_words}"
        return f"start {facts.launches} of {SILENT_DEATHS_MAX}: the one before left no word"
    last = deaths.last or "it left no word"
    if deaths.error:
        return (
            f"died {deaths.error} of {DEATHS_MAX} times without a batch, the last time of: {last}"
        )
    if deaths.silent:
        return f"was killed {deaths.silent} of {SILENT_DEATHS_MAX} times without a batch: {last}"
    return f"died {deaths.outage} times of something that is away, and is started again: {last}"


def _gone(facts: Facts) -> Life:
    """Determine the state of a run whose driver has died without an order from us."""
    if facts.driver == "FINISHED":
        if facts.available_now:
            return Life(State.finished)
        return Life(State.failed, facts.last_words or "its driver ended, though it was to run on")
    if facts.driver in ("FAILED", "ERROR"):
        words = facts.deaths.last or facts.last_words or "its driver's log may say more"
        return Life(State.failed, f"its driver ended with an error: {words}")
    if facts.driver == "KILLED":
        return Life(State.stopped, "its driver was ended at the cluster, not by a command of ours")
    return Life(
        State.stopped, "the cluster was stopped under it: `slackwater start` goes on from there"
    )
