"""Records by the drivers of a submission: that they started, are healthy, or have died.

The master restarts a dead driver indefinitely and reports it as RUNNING throughout. So each driver,
once it owns the run, records that it has started; that it is healthy, when a batch is done or there
is nothing to do; and the cause of its death. If it dies without a record, the next driver notices.
"""

from __future__ import annotations

import json
import sys
import uuid
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from jobs.runs.folder import write_whole
from jobs.runs.life import Deaths

ATTEMPTS_FILE = "attempts.json"
"""Name of the file in a run's folder."""


class TooManyDeaths(RuntimeError):
    """Drivers of the run have died repeatedly without a batch: the next one would too."""


@dataclass(frozen=True)
class Attempts:
    """The recorded facts.

    Attributes:
        begun: number of drivers of the submission that have reached our program.
        well: whether the last of them has committed a batch, or has found nothing to do.
        deaths: deaths since a driver was last healthy.
        living: the driver that has not reported its death; None: there is none.
    """

    begun: int = 0
    well: bool = False
    deaths: Deaths = field(default_factory=Deaths)
    living: str | None = None


def read_attempts(folder: Path) -> Attempts:
    """Read what the drivers of a run have recorded so far."""
    try:
        noted: dict[str, Any] = json.loads((folder / ATTEMPTS_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Attempts()
    return Attempts(**{**noted, "deaths": Deaths(**noted["deaths"])})


def forget_attempts(folder: Path) -> None:
    """Start over: no driver of a new submission has started or died."""
    _write(folder, Attempts())


class Attempt:
    """One driver's part of the record."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._name, self._well = folder, uuid.uuid4().hex, False

    def begin(self) -> None:
        """Record that this driver has started; a predecessor without a record died silently.

        To be called by the driver that owns the run.

        Raises:
            TooManyDeaths: that was one death too many.
        """
        before = read_attempts(self._folder)
        deaths = Deaths() if before.well else before.deaths
        if before.living is not None:
            deaths = replace(deaths, silent=deaths.silent + 1, last=None)
        now = Attempts(begun=before.begun + 1, deaths=deaths, living=self._name)
        _write(self._folder, now)
        if (final := deaths.final) is not None:
            msg = f"its driver {final}"
            raise TooManyDeaths(msg)

    def is_well(self) -> None:
        """Record that a batch is done, or that there is nothing to do."""
        if not self._well:
            noted = read_attempts(self._folder)
            if noted.living == self._name:
                self._well = _wrote(self._folder, replace(noted, well=True, deaths=Deaths()))

    def died(self, of: Deaths) -> str | None:
        """Record this driver's death; return why another one would die too; None: it may not.

        Args:
            of: the death, by kind.
        """
        noted = read_attempts(self._folder)
        if noted.living != self._name:
            return None  # a new submission has started: this driver's end does not count for it
        before = Deaths() if noted.well else noted.deaths
        deaths = Deaths(
            error=before.error + of.error,
            silent=before.silent + of.silent,
            outage=before.outage + of.outage,
            last=of.last,
        )
        _wrote(self._folder, replace(noted, well=False, deaths=deaths, living=None))
        return deaths.final

    def ended(self) -> None:
        """Record that this driver ends by itself: it is done, or has given up."""
        noted = read_attempts(self._folder)
        if noted.living == self._name:
            _wrote(self._folder, replace(noted, living=None))


def _wrote(folder: Path, attempts: Attempts) -> bool:
    """Write if possible: a failed write must neither kill a job nor hide its cause of death."""
    try:
        _write(folder, attempts)
    except OSError as error:
        sys.stderr.write(f"{folder / ATTEMPTS_FILE} cannot be written: {error}\n")
        return False
    return True


def _write(folder: Path, attempts: Attempts) -> None:
    write_whole(folder / ATTEMPTS_FILE, asdict(attempts))
