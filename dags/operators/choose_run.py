"""The run of a deployment: the one in the parameters, the live one, or a new one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from dags.operators.job import Job, meant, named


class OnChange(StrEnum):
    """What a deployment does with a running job when it must run something else.

    `refuse`: nothing; the task fails and lists the choices. `new_run`: stops it, for a new run.
    `beside`: starts the new run as its shadow.
    """

    refuse = "refuse"
    new_run = "new_run"
    beside = "beside"

    @property
    def options(self) -> tuple[str, ...]:
        """The options for `slackwater submit`."""
        return {"refuse": (), "new_run": ("--replace",), "beside": ("--beside",)}[self.value]


class YoungerRunError(Exception):
    """A cleared DAG run would have stopped a job that was submitted after it."""


@dataclass(frozen=True)
class Wish:
    """The request of a DAG run.

    Attributes:
        named: the run in its parameters, if any.
        first: the name of the pipeline's first run.
        fresh: the name of a later run that it creates.
        begin_at: where a new run starts, as for `slackwater submit --from`; None: at the topic's
            beginning.
        on_change: what may happen to another job.
        cleared: whether it has been cleared, so it is older than it looks.
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
        options: for `slackwater submit`, besides the name.
    """

    run: str
    options: tuple[str, ...] = ()


def choices(wish: Wish, jobs: list[Job]) -> list[Choice]:
    """Return the ways to submit, in order; try the next if one is refused as wrong use.

    `slackwater submit` decides whether a changed file can continue a run.


    Raises:
        YoungerRunError: see its docstring.
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
