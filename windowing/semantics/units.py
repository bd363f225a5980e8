"""What windows are made over: units of records, and what a window holds of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from windowing.model.flow import StreamFlow
from windowing.model.rows import Key, Scalar
from windowing.model.windows.window import Window
from windowing.semantics.lanes import Progress


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A record as windows see it; two are the same only if they are one.

    Attributes:
        value: the windowing attribute; the event time where windows count rows.
        source, partition, offset: its place in the log.
        progress: the progress before it, of its own lane and key.
        fields: its fields.
    """

    value: int
    source: str
    partition: int
    offset: int
    progress: Progress
    fields: Mapping[str, Scalar]

    @property
    def lane(self) -> str:
        """The name of its lane."""
        return f"{self.source}/{self.partition}"

    @property
    def place(self) -> tuple[str, int, int]:
        """Its place in the log, which orders records of equal value."""
        return self.source, self.partition, self.offset

    @property
    def canonical(self) -> tuple[int, str, int, int]:
        """Its place in the canonical order; rows of ORDER log go by event time here, too."""
        return self.value, self.source, self.partition, self.offset


@dataclass(frozen=True)
class Unit:
    """Records that have windows of their own: one PATTR value's, or all of the stream.

    Attributes:
        items: its records, lane by lane in offset order.
        final: the progress of the unit at the end of the log, over all declared lanes.
        furthest: the largest finite progress that any lane ever had for it.
        newest: the largest value of any record of the whole stream.
    """

    items: Sequence[Item]
    final: Progress
    furthest: Progress
    newest: int


@dataclass(frozen=True, slots=True)
class Holding:
    """That a window holds an item.

    Attributes:
        wid: the window.
        item: the record.
        release: None: from revision 0 on; else the late epoch E from whose revision on.
    """

    wid: int
    item: Item
    release: int | None


@dataclass(frozen=True)
class Shown:
    """One revision of one window for one key.

    Attributes:
        wid: the window; of a session its start.
        start, end: its extent.
        part: the value of PATTR; None without.
        group: the values of GROUP BY.
        revision: its number.
        release: the epoch that it belongs to; None for revision 0.
        holds: the records that it shows, in canonical order: all of its window's, or, where rows
            are discarding, those that the row before did not show.
        retracts: it repeats the row before it, to take it back.
        absorbed_by: of a session that is part of another one now: the start of that one.
        turn: of the rows of one instant those with less come first.
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
        """When it is sent: at its release, or at the end of its window."""
        return self.end if self.release is None else self.release


@dataclass(frozen=True, slots=True)
class Lateness:
    """For which windows a record is late.

    Attributes:
        whole: it reaches revision 0 of no window at all.
        first, last: the windows it is late for, where they are known on arrival; last None: all
            from `first` on.
    """

    whole: bool
    first: int | None = None
    last: int | None = None


OutsideReason = Literal["before_origin", "gap"]
"""Why a value lies in no window, wherever progress stands."""


def part_of(window: Window, item: Item) -> Scalar:
    """A record's value of PATTR."""
    return None if window.pattr is None else item.fields[window.pattr]


def group_of(query: StreamFlow, item: Item) -> Key:
    """A record's values of GROUP BY."""
    return tuple(item.fields[name] for name in query.group_by)


class ArrivalOrderError(ValueError):
    """E_ARRIVAL_ORDER: rows are counted as they arrive, and a unit arrives in two lanes."""

    exit_code = 1

    code = "E_ARRIVAL_ORDER"


def in_one_lane(unit: Unit) -> Sequence[Item]:
    """A unit's records in the order of arrival, which only a single lane has.

    Raises:
        ArrivalOrderError: they lie in several lanes.
    """
    lanes = sorted({item.lane for item in unit.items})
    if len(lanes) > 1:
        msg = (
            f"E_ARRIVAL_ORDER: rows are counted in the order of arrival, and {lanes[0]} and "
            f"{lanes[1]} both carry them: key the topic by PATTR, or use ORDER event_time"
        )
        raise ArrivalOrderError(msg)
    return unit.items
