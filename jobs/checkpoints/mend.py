"""Repair a checkpoint whose commit log lost its last entry while the next batch was planned.

Spark writes `offsets/N` when it plans batch N and `commits/N` when N is done, and on a restart
resumes from the newest planned batch. If the commit of the previous batch is lost, Spark cannot
find that batch's state, and the job fails again and again. The plan of the later batch must not be
lost either, since the tables may hold its rows under its number. So the plan is set aside, the
previous batch is rerun alone, and the plan is restored.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

_ASIDE = "offsets-aside"


def mend(checkpoint: Path, run_one: Callable[[], None]) -> list[int]:
    """Rerun batches whose commits are lost; return their numbers, usually none.

    The next call continues an interrupted one.

    Args:
        checkpoint: the checkpoint of a job that is not running.
        run_one: runs only the newest planned batch, which is not committed.

    Raises:
        RuntimeError: `run_one` committed nothing.
    """
    mended: list[int] = []
    while True:
        _put_back(checkpoint)
        first = newest(checkpoint / "commits") + 1
        if newest(checkpoint / "offsets") <= first:
            return mended
        _put_aside(checkpoint, beyond=first)
        run_one()
        if newest(checkpoint / "commits") < first:
            msg = f"batch {first} of {checkpoint}, whose commit is lost, could not be run again"
            raise RuntimeError(msg)
        mended.append(first)


def newest(log: Path) -> int:
    """Return the number of the newest entry of a log of the checkpoint; -1 if there is none."""
    return max((int(path.name) for path in log.glob("[0-9]*") if path.name.isdigit()), default=-1)


def _put_aside(checkpoint: Path, *, beyond: int) -> None:
    aside = checkpoint / _ASIDE
    aside.mkdir(exist_ok=True)
    for path in (checkpoint / "offsets").glob("[0-9]*"):
        if path.name.isdigit() and int(path.name) > beyond:
            path.rename(aside / path.name)


def _put_back(checkpoint: Path) -> None:
    for path in (checkpoint / _ASIDE).glob("[0-9]*"):
        path.rename(checkpoint / "offsets" / path.name)
