"""Revisions: the rows of one query, as a function of its records and the lanes' final progress.

For each row key, window w holds the records that the query takes for w. Of them,

    revision 0  are the records on time; it exists iff there is one and P >= close(w);
    revision r  adds the late records of the r-th epoch E that has any; it exists iff P >= E,

where P is the final progress of the row's key, the minimum over all declared lanes. A row shows the
whole window as of its revision, or only what is new. Sessions are defined in `session_course`.
Nothing else has an influence: neither the order between lanes, nor batches, nor clocks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from windowing.model.fields import Aggregate
from windowing.model.file.pipeline import Query, Source
from windowing.model.flow import StreamFlow
from windowing.model.functions import TRUTHS
from windowing.model.rows import Key, Row, Scalar, Value
from windowing.model.types import FieldType
from windowing.semantics.aggregates import NoValueError, aggregate, by_user, extreme, refused_by
from windowing.semantics.lanes import Lane
from windowing.semantics.units import Item, Unit, WindowRevision, group_of, part_of
from windowing.semantics.windows.classes import definition_of


def revisions(
    query: StreamFlow, items: Sequence[Item], lanes: Iterable[Lane], newest: int | None = None
) -> list[WindowRevision]:
    """Return all revisions that follow from the log.

    Args:
        query: window, keys and late policy.
        items: the stream's valid records, each lane's in offset order.
        lanes: all declared lanes, at the end of the log.
        newest: the largest value of the whole stream, if these records are only a part of it.

    Raises:
        ArrivalOrderError: rows are counted on arrival, and a unit arrives in two lanes.
    """
    lanes, definition = list(lanes), definition_of(query)
    shown: list[WindowRevision] = []
    for unit in units_of(query, items, lanes, newest):
        for course in definition.courses(unit):
            shown += accumulated(query, course)
    return shown


def accumulated(query: StreamFlow, course: Sequence[WindowRevision]) -> Iterator[WindowRevision]:
    """Return the rows sent for the ordered revisions of one window or session start."""
    before: WindowRevision | None = None
    for row in course:
        if before is not None and query.accumulation == "retracting":
            yield replace(before, retracts=True)
        known = set() if before is None or query.accumulation != "discarding" else {*before.holds}
        yield replace(row, holds=tuple(item for item in row.holds if item not in known))
        before = row


def key_of(query: StreamFlow, shown: WindowRevision) -> Key:
    """Return the key of a row: PATTR, then the values of GROUP BY."""
    return shown.group if query.window.pattr is None else (shown.part, *shown.group)


def units_of(
    query: StreamFlow, items: Sequence[Item], lanes: Sequence[Lane], newest: int | None = None
) -> Iterator[Unit]:
    """Return the units of records with their own windows or rows; Args as for `revisions`."""
    window = query.window
    units: dict[tuple[Scalar, Key], list[Item]] = defaultdict(list)
    per_key = window.traits.per_key
    # Where arrivals are counted, refused records have numbers, and no window holds them.
    counted = window.traits.counts_arrivals
    for item in items:
        if not counted and refused_by(query.aggregates, item.fields) is not None:
            continue
        group = group_of(query, item) if per_key else ()
        units[part_of(window, item), group].append(item)
    if newest is None:
        newest = max((item.value for item in items), default=0)
    for members in units.values():
        # Progress per key implies units of that key, so any member gives the key.
        fields = members[0].fields
        yield Unit(
            items=members,
            final=min(lane.of_record(fields) for lane in lanes),
            furthest=max(lane.furthest_of_record(fields) for lane in lanes),
            newest=newest,
        )


def row_of(query: Query, source: Source, shown: WindowRevision) -> Row:
    """Return the row that shows a revision."""
    key = key_of(query, shown)
    values, overflow = values_of(query.aggregates, source.fields, shown)
    return Row(
        query=query.name,
        window_id=shown.wid,
        window_start_us=shown.start,
        window_end_us=shown.end,
        key=key,
        pane="full" if shown.revision == 0 else "late",
        revision=shown.revision,
        records=len(shown.holds),
        retracts=shown.retracts,
        absorbed_by=shown.absorbed_by,
        offsets=offsets_of(source, shown),
        values=values,
        overflow=overflow,
    )


def offsets_of(source: Source, shown: WindowRevision) -> dict[str, tuple[int, int]]:
    """Return the first and last offset of a row's records, by lane in the order of numbers."""
    offsets: dict[str, list[int]] = defaultdict(list)
    for item in shown.holds:
        offsets[item.lane].append(item.offset)
    found = {lane: (min(held), max(held)) for lane, held in offsets.items()}
    return source.by_number(found)


def values_of(
    aggregates: Sequence[Aggregate], types: Mapping[str, FieldType], shown: WindowRevision
) -> tuple[dict[str, Value], tuple[str, ...]]:
    """Return the aggregates of a row by name, and which have none to show."""
    values: dict[str, Value] = {}
    overflow = []
    for spec in aggregates:
        try:
            values[spec.name] = value_of(spec, types, shown)
        except NoValueError:
            values[spec.name] = None
            overflow.append(spec.name)
    return values, tuple(overflow)


def unshown(
    aggregates: Sequence[Aggregate], types: Mapping[str, FieldType], shown: WindowRevision
) -> Iterator[str]:
    """Yield why aggregates of a row have no value to show: those that `values_of` names."""
    for spec in aggregates:
        try:
            value_of(spec, types, shown)
        except NoValueError as error:
            yield str(error)


def value_of(spec: Aggregate, types: Mapping[str, FieldType], shown: WindowRevision) -> Value:
    """Return one aggregate over a revision's records; null for a session that is gone.

    A user's class says nothing of a window without records.

    Raises:
        NoValueError: no row can show it.
    """
    if shown.absorbed_by is not None or (spec.function == "python" and not shown.holds):
        return None
    if spec.field is None:
        return len(shown.holds)
    if spec.function == "python":
        return by_user(
            spec,
            {item.place: [item.fields[name] for name in spec.fields] for item in shown.holds},
        )
    held = shown.holds
    if spec.function in TRUTHS and spec.more:
        # Only records for which the condition holds; of them, nulls count.
        held = tuple(item for item in held if item.fields[spec.more[0]])
    values = [item.fields[spec.field] for item in held]
    if spec.function in ("argmin", "argmax"):
        # Without a field to show, show the windowing attribute.
        shows = [item.fields[spec.more[0]] if spec.more else item.value for item in shown.holds]
        return extreme(spec, list(zip(values, shows, strict=True)))
    return aggregate(spec, types[spec.field], values)
