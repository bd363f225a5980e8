"""Sessions of a pipeline, by definition: what the records of a key draw themselves.

    session = a chain of records of one key, each less than the gap from the one before
    extent  = [ first, last + gap )

Over event time a record is late iff its lane's progress had passed it; it is taken iff progress had
not reached its time + gap + retention, and joins at the next late epoch. Over rows (of one lane) a
record's value is its number, and nothing is late: what parts a session are rows of other keys.

Source: SAMZA-552, "Session window: dynamic window"; lateness, merging and tombstones are ours.
"""

from __future__ import annotations

import math
from collections import defaultdict

from windowing.model.file.pipeline import Query
from windowing.model.rows import Key, Scalar
from windowing.model.rules import in_log_order
from windowing.semantics.lateness import epoch
from windowing.semantics.session_course import Entry, Sent, course
from windowing.semantics.units import Item, Lateness, Shown, Unit, group_of, in_one_lane


def courses(query: Query, unit: Unit) -> list[list[Shown]]:
    """Of each key and session start, the rows that the log shows, in their order.

    Raises:
        ArrivalOrderError: rows are counted, and two lanes carry the unit.
    """
    by_rows = in_log_order(query.window)
    items = in_one_lane(unit) if by_rows else unit.items
    entries: dict[Key, list[Entry[Item]]] = defaultdict(list)
    for number, item in enumerate(items):
        at = number if by_rows else item.value
        if takes(query, item):
            entry = Entry(at, (at, *item.place), _release(query, item), item)
            entries[group_of(query, item)].append(entry)
    progress = unit.final
    if by_rows and progress < math.inf:
        progress = len(items)
    shown: dict[tuple[Key, int], list[Shown]] = defaultdict(list)
    for group, own in entries.items():
        for sent in course(own, gap_of(query, own[0].item)):
            if sent.instant <= progress:
                shown[group, sent.start].append(_shown(query, group, own[0].item, sent))
    return list(shown.values())


def gap_of(query: Query, item: Item) -> int:
    """The distance that parts two records of this record's key."""
    window = query.window
    assert window.range_ is not None  # noqa: S101 - every session has one
    own = [gap for key, gap in window.gaps if key == item.fields[query.key[0]]]
    return own[0] if own else window.range_


def takes(query: Query, item: Item) -> bool:
    """Whether a record is in some session, now or at an epoch to come."""
    if lateness(query, item) is None:
        return True
    if query.late.every_us is None:
        return False
    return item.progress < item.value + gap_of(query, item) + (query.retention_us or 0)


def lateness(query: Query, item: Item) -> Lateness | None:
    """Late is what progress had passed, be its session open or not."""
    late = not in_log_order(query.window) and item.progress > item.value
    return Lateness(whole=True) if late else None


def _release(query: Query, item: Item) -> int | None:
    if lateness(query, item) is None or query.late.every_us is None:
        return None
    return epoch(item.progress, item.value, query.late.every_us)


def _shown(query: Query, group: Key, member: Item, sent: Sent[Item]) -> Shown:
    part: Scalar = None if query.window.pattr is None else member.fields[query.window.pattr]
    return Shown(
        wid=sent.start,
        start=sent.start,
        end=sent.end,
        part=part,
        group=group,
        revision=sent.revision,
        release=sent.instant,
        holds=tuple(sorted(sent.holds, key=lambda item: item.canonical)),
        absorbed_by=sent.absorbed_by,
    )
