"""What the drivers of a submission note of themselves: that they began, are well, or have died.

The master starts a dead driver again without end and calls it RUNNING all the while. So each
driver, once it has the run, notes that it has begun; that it is well, when a batch is done or there
is nothing to do; and what it dies of. One that had no time for that is missed by the next.
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
"""In a run's folder."""


class TooManyDeaths(RuntimeError):
    """Drivers of the run have died again and again without a batch: the next would, too."""


@dataclass(frozen=True)
class Attempts:
    """What is noted.

    Attributes:
        begun: how many drivers of the submission have come as far as our program.
        well: the last of them has committed a batch, or has found nothing to do.
        deaths: since one was last well.
        living: the one that has not said that it died; None: there is none.
    """

    begun: int = 0
    well: bool = False
    deaths: Deaths = field(default_factory=Deaths)
    living: str | None = None


def read_attempts(folder: Path) -> Attempts | None:
    """What the drivers of a run have noted; None: no submission that notes it."""
    try:
        noted: dict[str, Any] = json.loads((folder / ATTEMPTS_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return Attempts(**{**noted, "deaths": Deaths(**noted["deaths"])})


def forget_attempts(folder: Path) -> None:
    """Begin anew: of a new submission, no driver has come yet, and none has died."""
    _write(folder, Attempts())


class Attempt:
    """One driver's part of the notes.

    Args:
        folder: the run's.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._name, self._well = folder, uuid.uuid4().hex, False

    def begin(self) -> None:
        """Note that this driver has begun; one before it that left no word is a silent death.

        To be called by the driver that has the run.

        Raises:
            TooManyDeaths: that was one too many.
        """
        before = read_attempts(self._folder) or Attempts()
        deaths = Deaths() if before.well else before.deaths
        if before.living is not None:
            deaths = replace(deaths, silent=deaths.silent + 1, last=None)
        now = Attempts(begun=before.begun + 1, deaths=deaths, living=self._name)
        _write(self._folder, now)
        if (final := deaths.final) is not None:
            msg = f"its driver {final}"
            raise TooManyDeaths(msg)

    def is_well(self) -> None:
        """Note that a batch is done, or that there is nothing to do."""
        if not self._well:
            noted = read_attempts(self._folder)
            if noted is not None and noted.living == self._name:
                self._well = _wrote(self._folder, replace(noted, well=True, deaths=Deaths()))

    def died(self, of: Deaths) -> str | None:
        """Note that this driver dies; gives why another one would, too, and None if it may not.

        Args:
            of: one death, of its kind.
        """
        noted = read_attempts(self._folder)
        if noted is None or noted.living != self._name:
            return None  # a new submission has begun meanwhile: this one's end is no part of it
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
        """Note that this driver ends by itself: it is through, or has given up."""
        noted = read_attempts(self._folder)
        if noted is not None and noted.living == self._name:
            _wrote(self._folder, replace(noted, living=None))


def _wrote(folder: Path, attempts: Attempts) -> bool:
    """Write it, if that can be: no job is to die of a note, nor to hide what it dies of."""
    try:
        _write(folder, attempts)
    except OSError as error:
        sys.stderr.write(f"{folder / ATTEMPTS_FILE} cannot be written: {error}\n")
        return False
    return True


def _write(folder: Path, attempts: Attempts) -> None:
    write_whole(folder / ATTEMPTS_FILE, asdict(attempts))
