"""Policy windows, as data: eviction, trigger and partition eviction.

Source: Gedik 2014, sections 3.3 (eviction and trigger policies) and 3.5 (partition eviction).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

_SECOND_US = 1_000_000


class PolicyError(ValueError):
    """An invalid configuration, or a call that the configuration forbids."""


class Profile(StrEnum):
    """The rules to follow where sources differ: the paper's, or the published library's."""

    paper = "paper"
    osstreams = "osstreams"


class Marker(StrEnum):
    """A punctuation: the end of a window, of the stream, or of a drained region."""

    window = "window"
    final = "final"
    drain = "drain"


@dataclass(frozen=True)
class Count:
    """A number of tuples: the most in a window, or those received between two reports."""

    size: int


@dataclass(frozen=True)
class Delta:
    """A difference between the attribute of an arriving tuple and that of a stored one.

    Attributes:
        threshold: a difference greater than this crosses; an equal one never does.
    """

    attribute: str
    threshold: int | float


@dataclass(frozen=True)
class Time:
    """A length of time, by the window's clock.

    Attributes:
        period_us: the length; more than zero.
    """

    period_us: int


@dataclass(frozen=True)
class Punct:
    """A punctuation of the input; for the eviction of tumbling windows only."""


Policy = Count | Delta | Time | Punct


class Selection(StrEnum):
    """Which partitions are evicted first; of equal ones, the least recently updated."""

    lru = "lru"
    lfu = "lfu"
    oldest = "oldest"
    user = "user"


@dataclass(frozen=True)
class PartitionCount:
    """At most this many partitions."""

    size: int
    selection: Selection = Selection.lru


@dataclass(frozen=True)
class TupleCount:
    """At most this many tuples, over all partitions."""

    size: int
    selection: Selection = Selection.lru


@dataclass(frozen=True)
class PartitionAge:
    """No partition without an update for longer than this; needs no selection."""

    age_us: int


PartitionEviction = PartitionCount | TupleCount | PartitionAge


@dataclass(frozen=True)
class WindowClause:
    """The window of an input port.

    Attributes:
        eviction: when tuples leave.
        trigger: of a sliding window, when it reports.
        partition_by: the attributes whose values name a tuple's partition; empty: not partitioned.
        partition_eviction: which partitions are evicted.
    """

    kind: Literal["tumbling", "sliding"]
    eviction: Policy
    trigger: Policy | None = None
    partition_by: tuple[str, ...] = ()
    partition_eviction: PartitionEviction | None = None


def tumbling(
    eviction: Policy,
    *,
    partition_by: tuple[str, ...] = (),
    partition_eviction: PartitionEviction | None = None,
) -> WindowClause:
    """Return a tumbling window."""
    return WindowClause("tumbling", eviction, None, partition_by, partition_eviction)


def sliding(
    eviction: Policy,
    trigger: Policy | None = None,
    *,
    partition_by: tuple[str, ...] = (),
    partition_eviction: PartitionEviction | None = None,
) -> WindowClause:
    """Return a sliding window; without a trigger it reports at every tuple."""
    return WindowClause("sliding", eviction, trigger or Count(1), partition_by, partition_eviction)


def count(size: int) -> Count:
    """Return a policy by number of tuples; zero stores nothing, or never reports."""
    return Count(_natural(size, "count"))


def delta(attribute: str, threshold: int | float) -> Delta:
    """Return a policy by the difference of an attribute that increases along the stream."""
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or threshold < 0:
        msg = f"delta({attribute!r}, {threshold!r}): the threshold is a number, zero or more"
        raise PolicyError(msg)
    return Delta(attribute, threshold)


def time(seconds: int | float) -> Time:
    """Return a policy by time, in seconds with microsecond precision."""
    return Time(_microseconds(seconds, "time"))


def punct() -> Punct:
    """Return a policy by punctuations of the input."""
    return Punct()


def partition_count(size: int, selection: Selection = Selection.lru) -> PartitionCount:
    """Keep at most this many partitions."""
    return PartitionCount(_natural(size, "partition_count"), selection)


def tuple_count(size: int, selection: Selection = Selection.lru) -> TupleCount:
    """Keep at most this many tuples over all partitions."""
    return TupleCount(_natural(size, "tuple_count"), selection)


def partition_age(seconds: int | float) -> PartitionAge:
    """Evict partitions that received nothing for longer than this."""
    return PartitionAge(_microseconds(seconds, "partition_age"))


def _natural(size: int, name: str) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        msg = f"{name}({size!r}): give a whole number, zero or more"
        raise PolicyError(msg)
    return size


def _microseconds(seconds: int | float, name: str) -> int:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        msg = f"{name}({seconds!r}): give seconds, more than zero"
        raise PolicyError(msg)
    return round(seconds * _SECOND_US)
