"""A window as an operator's configuration names it: data, and the window that it makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from windowing.rows.policies import (
    Clock,
    Count,
    Profile,
    SlidingWindow,
    Storage,
    Summarizer,
    TumblingWindow,
)
from windowing.rows.policies.policy import PartitionEviction, Policy


@dataclass(frozen=True)
class WindowClause:
    """The window of an input port.

    Attributes:
        kind: `tumbling` or `sliding`.
        eviction: when tuples leave.
        trigger: of a sliding window, when it reports.
        partition_by: the attributes whose values name a tuple's partition; empty: not partitioned.
        partition_eviction: which partitions are given up.
    """

    kind: Literal["tumbling", "sliding"]
    eviction: Policy
    trigger: Policy | None = None
    partition_by: tuple[str, ...] = ()
    partition_eviction: PartitionEviction | None = None

    def open_tumbling(
        self,
        profile: Profile,
        clock: Clock | None,
        storage: Storage | None = None,
        summarizer: Callable[[Any], Summarizer] | None = None,
    ) -> TumblingWindow:
        """Make the window of a tumbling clause."""
        return TumblingWindow(
            self.eviction,
            summarizer=summarizer,
            partition_by=self.partition_by or None,
            partition_eviction=self.partition_eviction,
            profile=profile,
            clock=clock,
            storage=storage,
        )

    def open_sliding(
        self, profile: Profile, clock: Clock | None, storage: Storage | None = None
    ) -> SlidingWindow:
        """Make the window of a sliding clause."""
        assert self.trigger is not None  # noqa: S101 - `sliding` filled it in
        return SlidingWindow(
            self.eviction,
            self.trigger,
            partition_by=self.partition_by or None,
            partition_eviction=self.partition_eviction,
            profile=profile,
            clock=clock,
            storage=storage,
        )


def tumbling(
    eviction: Policy,
    *,
    partition_by: tuple[str, ...] = (),
    partition_eviction: PartitionEviction | None = None,
) -> WindowClause:
    """A tumbling window."""
    return WindowClause("tumbling", eviction, None, partition_by, partition_eviction)


def sliding(
    eviction: Policy,
    trigger: Policy | None = None,
    *,
    partition_by: tuple[str, ...] = (),
    partition_eviction: PartitionEviction | None = None,
) -> WindowClause:
    """A sliding window; without a trigger it reports at every tuple."""
    return WindowClause("sliding", eviction, trigger or Count(1), partition_by, partition_eviction)
