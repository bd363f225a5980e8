"""Building a window from its clause."""

from __future__ import annotations

from collections.abc import Callable

from windowing.engine.rows.policies import (
    Clock,
    SlidingWindow,
    Storage,
    Summarizer,
    TumblingWindow,
)
from windowing.engine.rows.policies.events import Key
from windowing.model.windows.policy import Profile, WindowClause


def open_tumbling(
    clause: WindowClause,
    profile: Profile,
    clock: Clock | None,
    storage: Storage | None = None,
    summarizer: Callable[[Key], Summarizer] | None = None,
) -> TumblingWindow:
    """Build the window of a tumbling clause."""
    return TumblingWindow(
        clause.eviction,
        summarizer=summarizer,
        partition_by=clause.partition_by or None,
        partition_eviction=clause.partition_eviction,
        profile=profile,
        clock=clock,
        storage=storage,
    )


def open_sliding(
    clause: WindowClause, profile: Profile, clock: Clock | None, storage: Storage | None = None
) -> SlidingWindow:
    """Build the window of a sliding clause."""
    assert clause.trigger is not None  # noqa: S101 - ensured by the operators' models
    return SlidingWindow(
        clause.eviction,
        clause.trigger,
        partition_by=clause.partition_by or None,
        partition_eviction=clause.partition_eviction,
        profile=profile,
        clock=clock,
        storage=storage,
    )
