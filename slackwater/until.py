"""Where the log ends that `verify` judges a run by: the end, or what the run has committed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import typer

from slackwater.chosen import what_is_up
from slackwater.console import UNKNOWN, tell

if TYPE_CHECKING:
    from jobs.runs import Run
    from slackwater.judged import Judged


class Until(StrEnum):
    """Where the log ends."""

    end = "end"
    committed = "committed"


@dataclass(frozen=True)
class Committed:
    """What a run had committed at some moment, while its job may have gone on.

    Attributes:
        batches: number of batches.
        ends: by lane, the first offset after them.
    """

    batches: int
    ends: Mapping[int, int]

    def __str__(self) -> str:
        return f"up to batch {self.batches - 1}"


def committed(until: Until | None, of: Judged, *, of_run: bool, is_file: bool) -> Committed | None:
    """Return where the log ends for a run; None: at its end.

    Args:
        until: as given; None: what the run has committed if its job is alive and has committed
            something, else the end.
        of: the run or table that is judged.
        of_run: whether it is the run's own output.
        is_file: whether it is a file of `slackwater run`, which has no batches.

    Raises:
        BadParameter: there is no run that has committed it.
        Exit: the run has committed nothing.
    """
    run = None if is_file else of.run
    if until is Until.end or (until is None and not (of_run and run and _is_alive(run))):
        return None
    if run is None:
        msg = "--until committed: only runs of this machine have commits: leave it out"
        raise typer.BadParameter(msg)
    from jobs.runs.offsets import committed_offsets

    source = of.pipeline.source
    batches, offsets = committed_offsets(run.checkpoint, source)
    if not batches and until is None:
        return None
    if not batches:
        tell(f"run {run.run} has not committed a batch yet: there is nothing to judge")
        raise typer.Exit(UNKNOWN)
    return Committed(batches, {lane: offsets.get(lane, 0) for lane in range(source.partitions)})


def _is_alive(run: Run) -> bool:
    """Whether the job of a run is there, or will be."""
    from infra.errors import InfraError
    from jobs.runs.looking import look_at

    try:
        return not look_at(what_is_up(lambda _: None), run).life.state.ended
    except InfraError:  # then nobody knows, and nothing is left out
        return False
