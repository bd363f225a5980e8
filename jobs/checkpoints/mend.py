"""Mends a checkpoint whose commit log has lost its last entry while the next batch was planned.

Spark writes `offsets/N` when it plans batch N and `commits/N` when N is done, and on a restart goes
on at the newest planned batch. If the commit of the one before is lost, it does so with a hole:
the state of that batch cannot be found, and the job fails again and again. The plan of the later
batch must not be forgotten either, since its rows may stand in the tables under its number. So it
is put aside, the batch before is run again alone, and the plan is put back.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

_ASIDE = "offsets-aside"


def mend(checkpoint: Path, run_one: Callable[[], None]) -> list[int]:
    """Run batches again whose commits are lost; gives their numbers, most often none.

    A call that was interrupted is continued by the next one.

    Args:
        checkpoint: of a job that does not run.
        run_one: runs the newest planned batch, which is not committed, and nothing more.

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
    """The number of the newest entry of a log of the checkpoint; -1 if there is none."""
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
