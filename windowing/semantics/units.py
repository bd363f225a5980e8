"""Units of records, over which windows are defined; the content of windows; and lateness.

A record is late for window w iff the progress of its own lane before it has reached close(w).
`generous` judges each window by itself; `consistent` judges all by the window that closes first. A
late record that a query takes (`update`) is released at an epoch E, a multiple of `every` after
both the window's close and the lane's progress.

Source: Li et al., SIGMOD 2005 (the two kinds of slack); epochs and retention are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from windowing.model.flow import StreamFlow
from windowing.model.rows import Key, Scalar
from windowing.model.windows.window import Window
from windowing.semantics.lanes import Progress


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A record as windows see it, compared by identity.

    Attributes:
        value: the windowing attribute; the event time for windows over rows.
        source, partition, offset: its place in the log.
        progress: the progress before it, of its own lane and key.
        rank: the place of its topic among those of a source of several; None: there is one, or
            it is of a join.
    """

    value: int
    source: str
    partition: int
    offset: int
    progress: Progress
    fields: Mapping[str, Scalar]
    rank: int | None = None

    @property
    def lane(self) -> str:
        """The name of its lane."""
        return f"{self.source}/{self.partition}"

    @property
    def place(self) -> tuple[str, int, int]:
        """Its place in the log."""
        return self.source, self.partition, self.offset

    @property
    def canonical(self) -> tuple[int, str, int, int]:
        """Its place in the canonical order, by event time even under ORDER log.

        Topics have the order in which a source names them, which is written before their names.
        """
        topic = self.source if self.rank is None else f"{self.rank:06d} {self.source}"
        return self.value, topic, self.partition, self.offset


@dataclass(frozen=True)
class Unit:
    """Records with their own windows: those of one PATTR value, or the whole stream.

    Attributes:
        items: its records, lane by lane in offset order.
        final: the progress of the unit at the end of the log, over all declared lanes.
        furthest: the largest finite progress of any lane for it.
        newest: the largest value in the whole stream.
    """

    items: Sequence[Item]
    final: Progress
    furthest: Progress
    newest: int


class Holding(NamedTuple):
    """The membership of an item in a window.

    Attributes:
        release: the late epoch whose revision first holds it; None: from revision 0 on.
    """

    wid: int
    item: Item
    release: int | None


@dataclass(frozen=True)
class WindowRevision:
    """One revision of one window for one key.

    Attributes:
        wid: the window; a session's start.
        start, end: its extent.
        part: the value of PATTR; None without.
        group: the values of GROUP BY.
        release: the epoch that it belongs to; None for revision 0.
        holds: the records that it shows, in canonical order: all of its window's or, with
            `discarding`, those that the previous row did not show.
        retracts: it repeats the previous row in order to retract it.
        absorbed_by: in a tombstone, the start of the session that this one is now part of.
        turn: the sort key among rows of one instant.
    """

    wid: int
    start: int
    end: int
    part: Scalar
    group: Key
    revision: int
    release: int | None
    holds: tuple[Item, ...]
    retracts: bool = False
    absorbed_by: int | None = None
    turn: int = 0

    @property
    def instant(self) -> int:
        """When it is sent: its release, or the end of its window."""
        return self.end if self.release is None else self.release


@dataclass(frozen=True, slots=True)
class Lateness:
    """The windows that a record is late for.

    Attributes:
        whole: it is in revision 0 of no window.
        first, last: the windows it is late for, if known on arrival; last None: all from `first`
            on.
    """

    whole: bool
    first: int | None = None
    last: int | None = None


OutsideReason = Literal["before_origin", "gap", "inactive"]
"""Why a value lies in no window, whatever the progress."""


def part_of(window: Window, item: Item) -> Scalar:
    """Return a record's value of PATTR."""
    return None if window.pattr is None else item.fields[window.pattr]


def group_of(query: StreamFlow, item: Item) -> Key:
    """Return a record's values of GROUP BY."""
    return tuple(item.fields[name] for name in query.group_by)


class ArrivalOrderError(ValueError):
    """E_ARRIVAL_ORDER: rows are counted on arrival, and a unit arrives in two lanes."""

    exit_code = 1

    code = "E_ARRIVAL_ORDER"


def in_one_lane(unit: Unit) -> Sequence[Item]:
    """Return a unit's records in order of arrival, which only a single lane defines.

    Raises:
        ArrivalOrderError: they are in several lanes.
    """
    lanes = sorted({item.lane for item in unit.items})
    if len(lanes) > 1:
        msg = (
            f"E_ARRIVAL_ORDER: rows are counted in the order of arrival, and {lanes[0]} and "
            f"{lanes[1]} both carry them: key the topic by PATTR, or use ORDER event_time"
        )
        raise ArrivalOrderError(msg)
    return unit.items


Verdict = int | Literal["on_time", "refused"]


def is_late(query: StreamFlow, close: int, earliest: int, progress: Progress) -> bool:
    """Return whether a record is late for one of its windows.

    Args:
        close: when the window closes.
        earliest: when the first of the record's windows closes.
        progress: of the record's own lane and key before it.
    """
    return progress >= (earliest if query.late.mode == "consistent" else close)


def judge(query: StreamFlow, close: int, earliest: int, progress: Progress) -> Verdict:
    """Decide for one window of a record: on time, refused, or the epoch that releases it.

    Args: as for `is_late`.
    """
    if not is_late(query, close, earliest, progress):
        return "on_time"
    every_us, retention_us = query.late.every_us, query.retention_us
    if every_us is None or (retention_us is not None and progress >= close + retention_us):
        return "refused"
    return epoch(progress, close, every_us)


def epoch(progress: Progress, close: int, every_us: int) -> int:
    """Return the first multiple of `every_us` after both progress and the close."""
    # The progress of a lane that has not ended is finite when a late record comes.
    return (max(int(progress), close) // every_us + 1) * every_us
