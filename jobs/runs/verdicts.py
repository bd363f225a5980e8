"""The last verdicts on a run, kept in its folder so that `slackwater runs` can show them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum

from jobs.runs.folder import Run, write_whole


class Judge(StrEnum):
    """The command that judged."""

    verify = "verify"
    quality = "quality"


@dataclass(frozen=True)
class Verdict:
    """A verdict.

    Attributes:
        at: when, in ISO 8601 and UTC.
        passed: whether everything was as it should be.
        sentence: the result.
    """

    at: str
    passed: bool
    sentence: str


def keep_verdict(run: Run, judge: Judge, *, passed: bool, sentence: str) -> None:
    """Store a verdict in the run's folder, replacing the previous one."""
    verdict = Verdict(datetime.now(UTC).isoformat(timespec="seconds"), passed, sentence)
    write_whole(run.folder / f"last_{judge}.json", asdict(verdict))


def last_verdict(run: Run, judge: Judge) -> Verdict | None:
    """Return the last verdict on a run; None: not judged yet."""
    try:
        told = (run.folder / f"last_{judge}.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    return Verdict(**json.loads(told))
