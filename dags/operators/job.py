"""A pipeline's runs according to `slackwater runs`, and what follows from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dags.operators.command import CommandError, CommandOutput

GAVE_UP = "failed"
"""State of a run whose job died of an error that would recur after a restart."""

_STOPPED = "stopped"
_WANTED = frozenset({_STOPPED, "superseded", "finished"})
_NEEDED = {"run", "state", "why", "live", "submitted_at"}


@dataclass(frozen=True)
class Job:
    """A run of a pipeline, from `slackwater runs`.

    Attributes:
        state: submitted, waiting, running, restarting, failed, stopping, stopped, superseded or
            finished.
        why: a sentence, if the state needs one; for a stopped run: who has stopped its driver,
            unless it was `slackwater stop`.
        live: whether commands take it by default, whether or not its job is running.
        submitted_at: time of the last submission, ISO 8601, UTC.
        batches: how many it has committed.
        file: the run's own copy of the pipeline file.
        ui: address of the driver's page, if known.
        log: where the driver's log is, if known.
    """

    run: str
    state: str
    why: str | None
    live: bool
    submitted_at: str
    batches: int = 0
    file: str | None = None
    ui: str | None = None
    log: str | None = None

    @property
    def on_purpose(self) -> bool:
        """Whether it has ended on purpose: stopped, replaced, or done."""
        return self.state in _WANTED and not self.dead

    @property
    def dead(self) -> bool:
        """Whether it has ended unintentionally."""
        return self.state == GAVE_UP or (self.state == _STOPPED and self.why is not None)

    @property
    def ended(self) -> bool:
        """Whether nothing more happens unless it is submitted again."""
        return self.on_purpose or self.dead

    def submitted_after(self, moment: datetime) -> bool:
        """Whether it was submitted after an instant.

        Args:
            moment: with a time zone.
        """
        return datetime.fromisoformat(self.submitted_at) > moment

    def __str__(self) -> str:
        why = f": {self.why}" if self.why else ""
        where = f"; the driver's log is {self.log}" if self.log and self.dead else ""
        return f"run {self.run} is {self.state}{why}{where}"


def jobs_arguments(file: str) -> list[str]:
    """Return the command line that lists all runs of a pipeline."""
    return ["runs", file, "--json"]


def jobs_of(output: CommandOutput) -> list[Job]:
    """Parse the command's output: an object per line, in its order.

    Raises:
        CommandError: a line is not such an object.
    """
    return [_job(line) for line in output.stdout]


def _job(line: str) -> Job:
    try:
        found: Any = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not found.keys() >= _NEEDED:
        msg = f"slackwater runs --json printed no run but {line[:200]!r}"
        raise CommandError(msg, 1)
    return Job(**{name: found[name] for name in Job.__dataclass_fields__ if name in found})


def named(jobs: Sequence[Job], run: str) -> Job | None:
    """Return the run with a name, if there is one."""
    return next((job for job in jobs if job.run == run), None)


def meant(jobs: Sequence[Job]) -> Job | None:
    """Return the default run: the live one, else the last submitted."""
    live = next((job for job in jobs if job.live), None)
    by_age = sorted(jobs, key=lambda job: datetime.fromisoformat(job.submitted_at))
    return live or (by_age[-1] if by_age else None)
