"""Which run a deployment means: one that a parameter names, the one that lives, or a new one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from dags.operators.job import Job, meant, named


class OnChange(StrEnum):
    """What a deployment does with the living job when it is to run something else.

    `refuse`: nothing, the task fails and says what there is to choose. `new_run`: ends it, for a
    new run. `beside`: starts the new run in its shadow.
    """

    refuse = "refuse"
    new_run = "new_run"
    beside = "beside"

    @property
    def options(self) -> tuple[str, ...]:
        """What `slackwater submit` is told."""
        return {"refuse": (), "new_run": ("--replace",), "beside": ("--beside",)}[self.value]


class YoungerRunError(Exception):
    """A cleared DAG run would have ended a job that was submitted after it."""


@dataclass(frozen=True)
class Wish:
    """What a DAG run asks for.

    Attributes:
        named: the run that its parameters name, if they do.
        first: what the pipeline's first run is called.
        fresh: the name of a later run that is made for it.
        begin_at: where a new run begins, as `slackwater submit --from` takes it; None: at the
            topic's beginning.
        on_change: what may happen to another job.
        cleared: it has been cleared, so it is older than it looks.
        since: when it was triggered.
    """

    named: str | None
    first: str
    fresh: str
    begin_at: str | None
    on_change: OnChange
    cleared: bool
    since: datetime


@dataclass(frozen=True)
class Choice:
    """One way to submit.

    Attributes:
        run: the run's name.
        options: for `slackwater submit`, beside it.
    """

    run: str
    options: tuple[str, ...] = ()


def choices(wish: Wish, jobs: list[Job]) -> list[Choice]:
    """The ways to submit, in order: the next one where the one before is refused as a wrong use.

    Whether a changed file may go on with a run is for `slackwater submit` to say.

    Args:
        wish: of the DAG run.
        jobs: the pipeline's runs.

    Raises:
        YoungerRunError: see there.
    """
    living = next((job for job in jobs if job.live and not job.ended), None)
    younger = living if living and wish.cleared and living.submitted_after(wish.since) else None
    options = () if younger else wish.on_change.options
    begin = ("--from", wish.begin_at) if wish.begin_at else ()
    if wish.named is not None:
        if younger and wish.named != younger.run:
            raise YoungerRunError(_refusal(younger, wish.named))
        goes_on = living is None or living.run == wish.named
        is_new = named(jobs, wish.named) is None
        return [Choice(wish.named, (*(() if goes_on else options), *(begin if is_new else ())))]
    before = meant(jobs)
    if before is None:
        return [Choice(wish.first, begin)]
    if not options:
        return [Choice(before.run)]
    return [Choice(before.run), Choice(wish.fresh, (*options, *begin))]


def _refusal(younger: Job, wanted: str) -> str:
    return (
        f"run {younger.run} was submitted at {younger.submitted_at}, after this DAG run had been "
        f"triggered: a cleared DAG run never ends a younger job. Trigger the DAG with run = "
        f"{wanted} and on_change = new_run to end {younger.run}, or beside to leave it alone"
    )
