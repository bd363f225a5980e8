"""The models of the operators: the configurations that each accepts.

Source: Gedik 2014, section 6.1; Dedup is ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from windowing.model.windows.policy import (
    Count,
    Delta,
    PartitionAge,
    PartitionCount,
    PartitionEviction,
    Policy,
    PolicyError,
    Profile,
    Punct,
    Time,
    TupleCount,
    WindowClause,
)

_ANY = (Count(1), Delta("x", 1), Time(1), Punct())
_SLIDING = (Count(1), Delta("x", 1), Time(1))
_EVICTIONS: tuple[PartitionEviction, ...] = (PartitionCount(1), TupleCount(1), PartitionAge(1))
UNSUPPORTED = "UNSUPPORTED_WINDOW"


class OperatorError(PolicyError):
    """A configuration outside the operator's model.

    Attributes:
        reason: the rule that it breaks, as a code.
    """

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


def check_aggregate(
    window: WindowClause, partial_windows: bool | None, evicted_partitions: bool | None
) -> None:
    """Check a configuration of Aggregate.

    Raises:
        OperatorError: it is not in the model.
    """
    check_window(window)
    if window.kind == "tumbling" and partial_windows:
        msg = "a tumbling window is never partial: leave partial_windows out"
        raise OperatorError("AGGREGATE_TUMBLING_AND_PARTIAL", msg)
    if window.kind == "sliding" and evicted_partitions:
        msg = "a sliding window does not report what it gives up: leave evicted_partitions out"
        raise OperatorError("AGGREGATE_SLIDING_AND_EVICTED", msg)
    if evicted_partitions is not None and not window.partition_by:
        msg = "evicted_partitions means nothing without partition_by"
        raise OperatorError("AGGREGATE_EVICTED_AND_UNPARTITIONED", msg)


def check_sort(
    window: WindowClause, sort_by: Sequence[str], order: Sequence[str], profile: Profile
) -> None:
    """Check a configuration of Sort.

    Raises:
        OperatorError: it is not in the model.
    """
    check_window(window)
    if window.kind == "sliding":
        progressive = profile is Profile.paper or isinstance(window.eviction, Count)
        if window.trigger != Count(1) or not progressive:
            msg = "Sort takes a tumbling window, or a sliding one with the trigger count(1)"
            raise OperatorError(UNSUPPORTED, msg)
    if not sort_by:
        raise OperatorError("SORT_BY", "sort_by names no attribute: give at least one")
    if len(order) not in (1, len(sort_by)):
        msg = f"{len(order)} orders for {len(sort_by)} attributes: give one, or one for each"
        raise OperatorError("SORT_ORDER", msg)
    for one in order:
        if one not in ("ascending", "descending"):
            msg = f"{one!r} is no order: write ascending or descending"
            raise OperatorError("SORT_ORDER", msg)


def check_join_window(window: WindowClause, side: str) -> None:
    """Check the window of one port of Join.

    Raises:
        OperatorError: it is not in the model.
    """
    check_window(window)
    if window.kind != "sliding":
        msg = f"{side}: Join takes sliding windows, with the trigger count(1)"
        raise OperatorError(UNSUPPORTED, msg)
    if window.trigger != Count(1):
        msg = f"{side}: Join reports at every tuple: trigger count(1), not {window.trigger}"
        raise OperatorError("JOIN_TRIGGER", msg)


def check_dedup(window: WindowClause, by: Sequence[str]) -> None:
    """Check a configuration of Dedup.

    Raises:
        OperatorError: it is not in the model.
    """
    check_window(window)
    if window.kind != "sliding" or window.trigger != Count(1):
        msg = "Dedup takes a sliding window with the trigger count(1)"
        raise OperatorError(UNSUPPORTED, msg)
    if not by:
        raise OperatorError("DEDUP_BY", "by names no attribute: give at least one")


def check_window(window: WindowClause) -> None:
    """Check a window, of whatever operator.

    Raises:
        OperatorError: no operator accepts it.
    """
    if window.partition_eviction is not None and not window.partition_by:
        msg = "partition eviction needs partitions: give partition_by"
        raise OperatorError("PARTITION_EVICTION", msg)
    by_punctuations = any(isinstance(one, Punct) for one in (window.eviction, window.trigger))
    if window.kind == "sliding" and by_punctuations:
        raise OperatorError(UNSUPPORTED, "a sliding window has no punctuation policy")


def aggregate_windows(*, kept: bool = False) -> Iterator[WindowClause]:
    """Yield every window of Aggregate: 4 tumbling and 3 × 3 sliding, with every partitioning.

    Args:
        kept: count partitions without eviction as a separate kind (the paper does not).
    """
    for eviction in _ANY:
        yield from _partitioned(WindowClause("tumbling", eviction), kept=kept)
    for eviction in _SLIDING:
        for trigger in _SLIDING:
            yield from _partitioned(WindowClause("sliding", eviction, trigger), kept=kept)


def sort_windows(profile: Profile, *, kept: bool = False) -> Iterator[WindowClause]:
    """Yield every window of Sort: 4 tumbling, and the sliding ones with the trigger count(1)."""
    for eviction in _ANY:
        yield from _partitioned(WindowClause("tumbling", eviction), kept=kept)
    sliding: Sequence[Policy] = _SLIDING if profile is Profile.paper else _SLIDING[:1]
    for eviction in sliding:
        yield from _partitioned(WindowClause("sliding", eviction, Count(1)), kept=kept)


def dedup_windows(*, kept: bool = False) -> Iterator[WindowClause]:
    """Yield every window of Dedup: the sliding ones with the trigger count(1)."""
    for eviction in _SLIDING:
        yield from _partitioned(WindowClause("sliding", eviction, Count(1)), kept=kept)


def join_windows(*, kept: bool = False) -> Iterator[tuple[WindowClause, WindowClause]]:
    """Yield every pair of windows of Join: 3 × 3 evictions, both sides partitioned or neither."""
    for left in _SLIDING:
        for right in _SLIDING:
            lefts = list(_partitioned(WindowClause("sliding", left, Count(1)), kept=kept))
            rights = list(_partitioned(WindowClause("sliding", right, Count(1)), kept=kept))
            for one in lefts:
                for other in rights:
                    if bool(one.partition_by) == bool(other.partition_by):
                        yield one, other


def _partitioned(window: WindowClause, *, kept: bool) -> Iterator[WindowClause]:
    yield window
    key = ("k",)
    if kept:
        yield WindowClause(window.kind, window.eviction, window.trigger, key)
    for eviction in _EVICTIONS:
        yield WindowClause(window.kind, window.eviction, window.trigger, key, eviction)
