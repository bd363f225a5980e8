"""What a log may come to instead of rows: an error, where the definition has one as well.

A sum that leaves 64 bits, a hole in a dense source, a unit of rows that arrives in two lanes: the
engine has to break off at the batch that brings it, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaos.simulator.case import SimulatedRecord
from chaos.simulator.history import SimulationHistory
from chaos.simulator.verdict.due import prefix
from windowing.model.file.pipeline import Pipeline
from windowing.semantics import BadLogError, evaluate
from windowing.semantics.aggregates import IntSumError
from windowing.semantics.units import ArrivalOrderError
from windowing.semantics.windows.landmark import EndlessLandmarkError

_MEANT = {
    IntSumError: "ResultOverflow",
    BadLogError: "OffsetGap",
    ArrivalOrderError: "ArrivalOrder",
    EndlessLandmarkError: "TooManyWindows",
}
REFUSALS = tuple(_MEANT)

_FULL = "StateFull"
# A record has two partial states at the most in each of the few pieces that its windows share.
_ENTRIES_PER_RECORD = 6

Lanes = Sequence[Sequence[SimulatedRecord]]


def refused(pipeline: Pipeline, log: Sequence[SimulatedRecord]) -> str | None:
    """The engine's error that the definition expects of a log; None: it has rows."""
    try:
        evaluate(pipeline, log)
    except REFUSALS as refusal:
        return meant(refusal)
    return None


def meant(refusal: Exception) -> str:
    """The engine's error for one of the definition's."""
    return next(name for kind, name in _MEANT.items() if isinstance(refusal, kind))


def lawful(pipeline: Pipeline, lanes: Lanes, history: SimulationHistory) -> bool:
    """Whether a run that broke off had to, at the batch at which it did.

    Args:
        pipeline: what was to be computed.
        lanes: the log, per lane.
        history: the run.
    """
    if not history.ends or history.commits is None or history.commits >= len(history.ends):
        return False
    log = prefix(lanes, history.ends[history.commits])
    if history.error_kind == _FULL:
        limits = [q.entries_max for q in pipeline.queries if q.entries_max is not None]
        # What a state holds is no part of the definition; that so much cannot be needed is.
        return min(limits) < _ENTRIES_PER_RECORD * len(log)
    before = history.ends[history.commits - 1] if history.commits else [0] * len(lanes)
    here = refused(pipeline, log)
    return here == history.error_kind and refused(pipeline, prefix(lanes, before)) is None


def as_far_as_committed(history: SimulationHistory) -> SimulationHistory:
    """The part of a run that was committed before it broke off."""
    if history.error is None or history.commits is None:
        return history
    kept = SimulationHistory(ends=history.ends[: history.commits], skipped=history.skipped)
    for number in range(history.commits):
        kept.batches[number] = history.batches[number]
        kept.attempts[number] = history.attempts[number]
    return kept
