"""Logs that have no result: the engine must raise an error where the definition does.

A gap in a dense source, a unit of rows that arrives in two lanes: the engine
must fail at the batch that contains it, and at no other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from chaos.simulator.added_lanes import standing
from chaos.simulator.case import SimulatedRecord
from chaos.simulator.history import SimulationHistory
from chaos.simulator.verdict.due import prefix
from windowing.model.file.pipeline import Pipeline
from windowing.semantics import BadLogError, evaluate
from windowing.semantics.units import ArrivalOrderError
from windowing.semantics.windows.landmark import EndlessLandmarkError

_MEANT = {
    BadLogError: "OffsetGap",
    ArrivalOrderError: "ArrivalOrder",
    EndlessLandmarkError: "TooManyWindows",
}
REFUSALS = tuple(_MEANT)

_FULL = "StateFull"
_MISMATCH = "CheckpointMismatch"
# A record has at most two partial states in each of the few slices that its windows share.
_ENTRIES_PER_RECORD = 6

Lanes = Sequence[Sequence[SimulatedRecord]]


def refused(pipeline: Pipeline, log: Sequence[SimulatedRecord]) -> str | None:
    """Return the engine's error that the definition requires for a log; None: it has a result."""
    try:
        evaluate(pipeline, log)
    except REFUSALS as refusal:
        return meant(refusal)
    return None


def meant(refusal: Exception) -> str:
    """Return the name of the engine's error for an error of the definition."""
    return next(name for kind, name in _MEANT.items() if isinstance(refusal, kind))


def lawful(pipeline: Pipeline, lanes: Lanes, history: SimulationHistory) -> bool:
    """Whether a run that failed had to fail, at the batch at which it did."""
    if not history.ends or history.commits is None or history.commits >= len(history.ends):
        return False
    log = prefix(lanes, history.ends[history.commits])
    if history.error_kind == _FULL:
        limits = [q.entries_max for q in pipeline.flows if q.entries_max is not None]
        # The definition does not say how large a state is, but it bounds what can be needed.
        return min(limits) < _ENTRIES_PER_RECORD * len(log)
    before = history.ends[history.commits - 1] if history.commits else (0,) * len(lanes)
    if history.error_kind == _MISMATCH:
        return _joined_too_early(pipeline, lanes, history, before)
    here = refused(pipeline, log)
    return here == history.error_kind and refused(pipeline, prefix(lanes, before)) is None


def _joined_too_early(
    pipeline: Pipeline, lanes: Lanes, history: SimulationHistory, before: Sequence[int]
) -> bool:
    """Whether a lane that was new in the batch is said to join before where the others were."""
    new = sorted(lane for lane, at in history.joined.items() if at == history.commits)
    if not new:
        return False
    read = [lane[:end] for lane, end in zip(lanes, before, strict=True)][: new[0]]
    for attribute, progress in standing(pipeline, read).items():
        for lane in new:
            since = pipeline.source.begins_at(lane, attribute)
            if progress > (-math.inf if since is None else since):
                return True
    return False


def as_far_as_committed(history: SimulationHistory) -> SimulationHistory:
    """Return the part of a run that was committed before it failed."""
    if history.error is None or history.commits is None:
        return history
    kept = SimulationHistory(ends=history.ends[: history.commits], skipped=history.skipped)
    kept.unsound, kept.joined = history.unsound, history.joined
    for number in range(history.commits):
        kept.batches[number] = history.batches[number]
        kept.attempts[number] = history.attempts[number]
        kept.early[number] = history.early.get(number, [])
        kept.heard[number] = history.heard[number]
    return kept
