"""The definition of flows without a pipeline: the sequence of rows of an operator's log.

The same definitions as a pipeline's give the rows; here they are in the order in which an operator
sends them, and records have only a key and a value. Windows over rows differ from a pipeline's in
two ways: the end of a lane is only progress, so that a window that is not full is never sent; and
in log order a row's position in its window is its number, not its event time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from windowing.model.flow import JoinFlow, LaneStart, StreamFlow
from windowing.model.join import Side
from windowing.model.progress import Disorder
from windowing.model.record import (
    Bound,
    Pair,
    Record,
    WindowRow,
    lane_order,
    null_first,
)
from windowing.model.types import FieldType
from windowing.model.windows.traits import Ends
from windowing.model.windows.window import ROW_NUM
from windowing.semantics.controls import Bound as LaneBound
from windowing.semantics.lanes import Lane
from windowing.semantics.revisions import revisions, values_of
from windowing.semantics.units import Item, WindowRevision
from windowing.semantics.windows.classes import definition_of
from windowing.semantics.windows.joins import Delivery, JoinDefinition, JoinRow, join_rows

_BEYOND = 2**62
"""A progress that is after every record, but before the end of all lanes."""

Log = Iterable[Record | Bound]


def rows_of(
    flow: StreamFlow,
    starts: Sequence[LaneStart],
    disorder: Disorder,
    log: Log,
    *,
    past_end: bool = False,
) -> tuple[list[WindowRow], list[Record]]:
    """Return all full and late rows and tombstones in order, and the refused records.

    Args:
        flow: the flow to evaluate; its late records go by epochs of progress.
        starts: all lanes.
        log: the whole log, in any interleaving of lanes; each lane in offset order.
        past_end: send windows over rows with the row after their last.
    """
    by_rows = flow.window.attribute == ROW_NUM
    items, lanes = _read(starts, disorder, log, endless=by_rows)
    if flow.window.traits.counts_arrivals:
        items = [replace(item, value=number) for number, item in enumerate(items)]
    shown = _in_order(revisions(flow, items, lanes))
    if past_end and flow.window.traits.ends is Ends.ROWS:
        shown = (row for row in shown if row.end < len(items))
    definition = definition_of(flow)
    refused = [
        item
        for item in items
        if not definition.takes(item) and definition.lateness(item) is not None
    ]
    return [_row(flow, row) for row in shown], [_record(item) for item in refused]


def pairs_of(
    flow: JoinFlow, starts: Sequence[LaneStart], disorder: Disorder, log: Log
) -> tuple[list[Pair], list[Pair], list[Record]]:
    """Return the rows that progress has reached, in order; all rows; the refused records.

    Args: as for `rows_of`.
    """
    items, lanes = _read(starts, disorder, log)
    side_of = {start.name: start.side or "left" for start in starts}
    sides: dict[Side, list[Delivery]] = {"left": [], "right": []}
    definition, refused = JoinDefinition(flow), []
    for item in items:
        own = sides[side_of[item.lane]]
        if flow.axis == "rows":
            own.append((len(own) + 1, replace(item, value=len(own))))
        elif definition.takes(item):
            own.append((definition.delivered(item), item))
        else:
            refused.append(_record(item))
    progress = min(lane.progress for lane in lanes)
    if flow.axis == "rows" and progress < math.inf:
        progress = min(map(len, sides.values()))
    rows = join_rows(flow, sides)
    reached = [_pair(sent) for sent in rows if sent.instant <= progress]
    return reached, [_pair(sent) for sent in rows], refused


def _read(
    starts: Sequence[LaneStart], disorder: Disorder, log: Log, *, endless: bool = False
) -> tuple[list[Item], list[Lane]]:
    """Return the records, each with the progress before it, lane by lane; and the final lanes."""
    lanes = {start.name: Lane(start.name, disorder) for start in starts}
    items = []
    for entry in log:
        lane = lanes[entry.lane]
        if isinstance(entry, Bound):
            ends = entry.bound == math.inf
            bound = _BEYOND if ends else int(entry.bound)
            lane.control("end" if ends and not endless else LaneBound(bound))
            continue
        fields = {"ts": entry.ts, "key": entry.key, "value": entry.value}
        place = (*lane_order(entry.lane), entry.offset)
        items.append(Item(entry.ts, *place, lane.progress, fields))
        lane.record(entry.ts, fields)
    return sorted(items, key=lambda item: item.place), [*lanes.values()]


def _in_order(shown: Sequence[WindowRevision]) -> Iterator[WindowRevision]:
    """Return revisions in the order of sending; a retraction precedes the next row."""
    placed = []
    for number, row in enumerate(shown):
        sent = shown[number + 1] if row.retracts else row
        key = null_first(_text(sent))
        placed.append(((sent.instant, sent.turn, sent.start, sent.end, key, number), row))
    return (row for _, row in sorted(placed, key=lambda one: one[0]))


def _row(flow: StreamFlow, shown: WindowRevision) -> WindowRow:
    offsets: dict[str, tuple[int, int]] = {}
    for lane in sorted({item.lane for item in shown.holds}, key=lane_order):
        held = [item.offset for item in shown.holds if item.lane == lane]
        offsets[lane] = min(held), max(held)
    values, overflow = values_of(flow.aggregates, {"value": FieldType("int")}, shown)
    value = next(iter(values.values()))
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # an integral median is an int
    return WindowRow(
        start=shown.start,
        end=shown.end,
        key=_text(shown),
        pane="late" if shown.revision else "full",
        revision=shown.revision,
        records=len(shown.holds),
        value=value,  # type: ignore[arg-type]
        offsets=offsets,
        retracts=shown.retracts,
        absorbed_by=shown.absorbed_by,
        overflow=bool(overflow),
    )


def _text(shown: WindowRevision) -> str | None:
    """Return the key of a row; None without GROUP BY."""
    key = shown.group[0] if shown.group else None
    assert key is None or isinstance(key, str)  # noqa: S101 - records' keys are text
    return key


def _pair(sent: JoinRow) -> Pair:
    left, right = (None if i is None else _record(i) for i in (sent.left, sent.right))
    return Pair(left, right, retracts=sent.retracts)


def _record(item: Item) -> Record:
    return Record(item.lane, item.offset, **item.fields)  # type: ignore[arg-type]
