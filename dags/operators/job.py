"""What `slackwater runs` says of a pipeline's runs, and what follows from it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dags.operators.command import CommandError, Output

GAVE_UP = "failed"
"""State of a run whose job died of something that a restart would meet again."""

_STOPPED = "stopped"
_WANTED = frozenset({_STOPPED, "superseded", "finished"})
_NEEDED = {"run", "state", "why", "live", "submitted_at"}


@dataclass(frozen=True)
class Job:
    """One run of a pipeline, as `slackwater runs` gives it.

    Attributes:
        run: its name.
        state: submitted, waiting, running, restarting, failed, stopping, stopped, superseded or
            finished.
        why: a sentence, where the state wants one; of a stopped run: who has ended its driver, if
            it was not `slackwater stop`.
        live: it is the run that commands take by default, whether or not its job lives.
        submitted_at: ISO 8601, UTC; of a run that was submitted again, the last time.
        file: the run's own copy of the pipeline file.
        ui: address of the driver's page, if known.
        log: where the driver's log is, if known.
    """

    run: str
    state: str
    why: str | None
    live: bool
    submitted_at: str
    file: str | None = None
    ui: str | None = None
    log: str | None = None

    @property
    def on_purpose(self) -> bool:
        """It has ended since somebody wanted it to: stopped, replaced, or through."""
        return self.state in _WANTED and not self.dead

    @property
    def dead(self) -> bool:
        """It has ended, and nobody of us wanted it."""
        return self.state == GAVE_UP or (self.state == _STOPPED and self.why is not None)

    @property
    def ended(self) -> bool:
        """Nothing happens any more unless it is submitted again."""
        return self.on_purpose or self.dead

    def submitted_after(self, moment: datetime) -> bool:
        """Whether it is younger than a moment.

        Args:
            moment: with a time zone.
        """
        return datetime.fromisoformat(self.submitted_at) > moment

    def __str__(self) -> str:
        why = f": {self.why}" if self.why else ""
        where = f"; the driver's log is {self.log}" if self.log and self.dead else ""
        return f"run {self.run} is {self.state}{why}{where}"


def jobs_arguments(file: str) -> list[str]:
    """The command line that asks for all runs of a pipeline."""
    return ["runs", file, "--json"]


def jobs_of(output: Output) -> list[Job]:
    """Read what the command printed: an object a line, in its order.

    Raises:
        CommandError: a line is something else.
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
    """The run of a name, if there is one."""
    return next((job for job in jobs if job.run == run), None)


def meant(jobs: Sequence[Job]) -> Job | None:
    """The run that people mean who name none: the live one, else the one submitted last."""
    live = next((job for job in jobs if job.live), None)
    by_age = sorted(jobs, key=lambda job: datetime.fromisoformat(job.submitted_at))
    return live or (by_age[-1] if by_age else None)
