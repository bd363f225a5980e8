"""One query over any stream: the definition without a pipeline.

A pipeline has one source, a format, several queries. Here a stream is as in theory: lanes of data
and control records, from any number of sources, over any attribute.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from windowing.model.flow import StreamFlow
from windowing.model.progress import Disorder
from windowing.model.rows import Scalar
from windowing.model.windows.window import ROW_NUM, Window
from windowing.semantics.controls import Control
from windowing.semantics.lanes import Lane
from windowing.semantics.revisions import revisions
from windowing.semantics.units import Item, Lateness, OutsideReason, WindowRevision
from windowing.semantics.windows.classes import definition_of


@dataclass(frozen=True)
class Event:
    """One record of a stream.

    Attributes:
        lane: one of the question's lanes.
        offset: its position in the lane.
        ts_us: its time; None for a control record.
        content: its fields, or the content of the control record.
    """

    lane: int
    offset: int
    ts_us: int | None
    content: dict[str, Scalar] | Control


@dataclass(frozen=True)
class Question:
    """A query to evaluate over a stream.

    Attributes:
        query: windows, keys, aggregates, late records.
        lanes: all lanes, as `source/partition`.
        ignore_control: honour only `end` among control records.
    """

    query: StreamFlow
    lanes: tuple[str, ...]
    disorder: Disorder
    ignore_control: bool = False


@dataclass(frozen=True)
class Answer:
    """The result of a query over a stream.

    Attributes:
        shown: every revision that was sent.
        late: every late record, and the windows it is late for.
        outside: every record that lies in no window, and why.
        lanes: the lanes at the end.
    """

    shown: list[WindowRevision]
    late: list[tuple[Item, Lateness]]
    outside: list[tuple[Item, OutsideReason]]
    lanes: list[Lane]


class AfterEndError(ValueError):
    """E_AFTER_END: a lane that continues after its end."""

    code = "E_AFTER_END"


def answer(question: Question, events: Iterable[Event]) -> Answer:
    """Evaluate a query over a stream.

    Args:
        events: in any order of arrival; each lane's in offset order.

    Raises:
        AfterEndError: a record after its lane's end.
        ArrivalOrderError: rows are counted on arrival, and a unit arrives in two lanes.
    """
    query = question.query
    lanes = [Lane(name, question.disorder, question.ignore_control) for name in question.lanes]
    items = _follow(query.window, lanes, events)
    shown = revisions(query, items, lanes)
    definition = definition_of(query)
    late = [(item, found) for item in items if (found := definition.lateness(item))]
    outside = [(item, reason) for item in items if (reason := definition.outside(item.value))]
    return Answer(shown, late, outside, lanes)


def _follow(window: Window, lanes: Sequence[Lane], events: Iterable[Event]) -> list[Item]:
    items = []
    for event in events:
        lane = lanes[event.lane]
        if lane.progress == math.inf:
            msg = f"E_AFTER_END: {lane.name} offset {event.offset} comes after the lane's end"
            raise AfterEndError(msg)
        if event.ts_us is None:
            assert not isinstance(event.content, dict)  # noqa: S101 - fields have a time
            lane.control(event.content)
            continue
        assert isinstance(event.content, dict)  # noqa: S101 - controls have none
        value = event.ts_us
        if window.attribute != ROW_NUM and window.attribute in event.content:
            attribute = event.content[window.attribute]
            assert isinstance(attribute, int)  # noqa: S101 - windows are only over ints
            value = attribute
        source, _, partition = lane.name.rpartition("/")
        progress = lane.of_record(event.content)
        items.append(Item(value, source, int(partition), event.offset, progress, event.content))
        lane.record(value, event.content)
    # Lane by lane; the order between lanes is irrelevant.
    return sorted(items, key=lambda item: item.place)
