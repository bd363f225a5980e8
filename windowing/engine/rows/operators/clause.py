"""The window that a clause describes."""

from __future__ import annotations

from windowing.engine.rows.policies import Clock, SlidingWindow, Storage, TumblingWindow
from windowing.model.windows.policy import Profile, WindowClause


def open_tumbling(
    clause: WindowClause, profile: Profile, clock: Clock | None, storage: Storage | None = None
) -> TumblingWindow:
    """Make the window of a tumbling clause."""
    return TumblingWindow(
        clause.eviction,
        partition_by=clause.partition_by or None,
        partition_eviction=clause.partition_eviction,
        profile=profile,
        clock=clock,
        storage=storage,
    )


def open_sliding(
    clause: WindowClause, profile: Profile, clock: Clock | None, storage: Storage | None = None
) -> SlidingWindow:
    """Make the window of a sliding clause."""
    assert clause.trigger is not None  # noqa: S101 - the operators' models see to it
    return SlidingWindow(
        clause.eviction,
        clause.trigger,
        partition_by=clause.partition_by or None,
        partition_eviction=clause.partition_eviction,
        profile=profile,
        clock=clock,
        storage=storage,
    )
