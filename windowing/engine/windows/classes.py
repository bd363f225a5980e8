"""How the engine evaluates flows: a lane's part and a shard's, for each class of windows and joins.

A new class is a file in `windowing/engine/windows/` with both parts, and a line here. Only the two
parts know the tables of partial states that travel between them. A user's class registers its own
(`window_parts`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar, cast

import polars as pl

from windowing.engine import wids
from windowing.engine.aggregates import StateSchema
from windowing.engine.columns import AT_LAST, GAP, WINDOW_ID
from windowing.engine.flow_plan import FlowPlan
from windowing.engine.having import with_previous
from windowing.engine.progress.clock import clock_by, clock_of, row_clock_of
from windowing.engine.rows.join_part import PolicyJoinShardPart
from windowing.engine.wids import Numbering
from windowing.engine.windows import evaluation
from windowing.engine.windows.by_record import AtRecordsLanePart, AtRecordsShardPart
from windowing.engine.windows.calendar import CalendarNumbering
from windowing.engine.windows.cumulate import CumulateShardPart, numbering_of
from windowing.engine.windows.evaluation import Evaluation
from windowing.engine.windows.join import JoinLanePart, JoinShardPart, equal_columns
from windowing.engine.windows.own_numbering import OwnNumbering
from windowing.engine.windows.part import LanePart, ShardPart, route
from windowing.engine.windows.rows import RankedLanePart, RankedShardPart, numbered_part
from windowing.engine.windows.session import SessionLanePart, SessionShardPart
from windowing.engine.windows.sliding import LandmarkShardPart, SlidingShardPart
from windowing.engine.windows.sliding_lane import SlidingLanePart
from windowing.model import Pipeline, Query
from windowing.model.operators.join import PolicyJoinQuery
from windowing.model.query import JoinQuery
from windowing.model.registry import Registry
from windowing.model.windows.by_record import SlideByN, SlideByRank, SlideByTuple
from windowing.model.windows.calendar import CalendarWindow
from windowing.model.windows.cumulate import Cumulate
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.own import OwnWindow, missing_plugin
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.session import Session
from windowing.model.windows.sliding import Sliding
from windowing.model.windows.traits import Order
from windowing.model.windows.window import Window

Extent = tuple[int, int]
"""Start and end of a row's window, report or pair."""

Extents = Callable[[pl.DataFrame], list[Extent]]
MakeLanePart = Callable[[Query, Pipeline], LanePart]
MakeShardPart = Callable[[Query, Pipeline], ShardPart]


@dataclass(frozen=True)
class Parts:
    """How the engine evaluates a class of windows.

    Attributes:
        lane: makes a lane's part of a query; where nothing else is needed, it is the part's class.
        shard: the same for a shard's part.
        evaluation: what the two do together, and why.
        extents: give start and end of each row that a shard's part made.
        settles: whether the lane's part can read chunks apart, as
            `windowing.engine.windows.part.Settles` says.
        numbering: of windows that follow from a record's value; None: from other records, too.
    """

    lane: MakeLanePart
    shard: MakeShardPart
    evaluation: Evaluation
    extents: Extents
    settles: bool = False
    numbering: Numbering | None = None


PARTS: Final = Registry[Callable[[Window], Parts]]("window_parts", "window_parts")
"""The one place that knows which class of windows is evaluated how, by kind."""

_Class = TypeVar("_Class", bound=Callable[[Any], Numbering])


def window_parts(kind: str) -> Callable[[_Class], _Class]:
    """Register the decorated class as the numbering of a user's windows.

    Partial states, late epochs and rows are then as for sliding windows. The class takes the
    instance that the package made of the clauses (`windowing.model.windows.registry.window`). A
    class that needs other parts adds these to `PARTS`; they must show open windows
    (`windowing.engine.windows.part.ShowsOpenWindows`).

    Raises:
        PluginError: the kind is taken.
    """

    def register(class_: _Class) -> _Class:
        def parts(window: Window) -> Parts:
            assert isinstance(window, OwnWindow)  # noqa: S101 - of no other kind
            numbering = OwnNumbering(kind, class_(window.made()))
            return Parts(
                partial(SlidingLanePart, numbering=numbering),
                partial(SlidingShardPart, numbering=numbering),
                evaluation.valued(kind),
                _numbered_by(numbering),
                settles=True,
                numbering=numbering,
            )

        PARTS.add(kind, parts, f"{class_.__module__}.{class_.__name__}")
        return class_

    return register


def parts_of(window: Window) -> Parts:
    """Give the parts that evaluate a window.

    Raises:
        PluginError: its plug-in cannot be imported.
    """
    if window.kind not in PARTS:
        raise missing_plugin("window_parts", window.kind)
    return PARTS[window.kind](window)


def plan_windows(query: Query, pipeline: Pipeline) -> FlowPlan[Query]:
    """Decide how a query with windows is run, if it shares slices with no other."""
    parts, source = parts_of(query.window), pipeline.source
    whole = f"query {query.name}: {query.window.kind} windows need each record's place"
    return FlowPlan(
        query,
        parts.lane,
        parts.shard if query.having is None else partial(_with_previous, parts.shard),
        replaces=False,
        evaluation=parts.evaluation,
        schema=StateSchema.of(query, source),
        route=tuple(route(query, source)),
        clock=clock_of(query, source),
        row_clock=row_clock_of(query),
        whole=None if parts.settles else whole,
    )


def _with_previous(shard: MakeShardPart, query: Query, pipeline: Pipeline) -> ShardPart:
    """Return the part whose rows say what the row before showed."""
    return shard(with_previous(query), pipeline)


def window_extents(query: Query, rows: pl.DataFrame) -> list[Extent]:
    """Start and end of the window of each row that a shard's part made."""
    return extents_in(query.window, rows)


def extents_in(window: Window, rows: pl.DataFrame) -> list[Extent]:
    """Start and end of the window of each row, by its number."""
    return parts_of(window).extents(rows)


def numbering_by(window: Window) -> Numbering:
    """Return the numbering of windows that follow from a record's value, or from its number.

    Raises:
        PluginError: its plug-in cannot be imported.
    """
    return parts_of(window).numbering or wids.grid(window)


def _numbered_by(numbering: Numbering) -> Extents:
    return partial(_bounds, numbering)


def _bounds(numbering: Numbering, rows: pl.DataFrame) -> list[Extent]:
    return [numbering.bounds(wid) for wid in rows[WINDOW_ID]]


def drawn_extents(_: object, rows: pl.DataFrame) -> list[Extent]:
    """Start and end of each session or pair, from columns of the rows."""
    # Their sum may exceed 64 bits, like other windows' ends.
    ends = zip(rows[AT_LAST].to_list(), rows[GAP].to_list(), strict=True)
    return [(start, sum(end)) for start, end in zip(rows[WINDOW_ID].to_list(), ends, strict=True)]


def _of_rows(window: Window) -> Parts:
    extents = _numbered_by(wids.grid(window))
    if window.traits.order is Order.CANONICAL:
        return Parts(RankedLanePart, RankedShardPart, evaluation.RANKED, extents)
    # A row numbered by its lane is a record with its number as attribute.
    return Parts(SlidingLanePart, numbered_part(window), evaluation.NUMBERED, extents)


def _of_calendars(window: Window) -> Parts:
    numbering = CalendarNumbering(cast("CalendarWindow", window))
    return Parts(
        partial(SlidingLanePart, numbering=numbering),
        partial(SlidingShardPart, numbering=numbering),
        evaluation.SLICES,
        numbering.extents,
        settles=True,
        numbering=numbering,
    )


def _of_sessions(window: Window) -> Parts:
    what = "rows of other keys" if window.traits.counts_arrivals else "time"
    extents = partial(drawn_extents, window)
    return Parts(SessionLanePart, SessionShardPart, evaluation.parted_by(what), extents)


def plan_join(query: JoinQuery, pipeline: Pipeline) -> FlowPlan[JoinQuery]:
    """Decide how a join is run: by event time, and nothing is shown before it is whole."""
    windowed = isinstance(query, PolicyJoinQuery)
    return FlowPlan(
        query,
        JoinLanePart,
        PolicyJoinShardPart if windowed else JoinShardPart,
        replaces=False,
        evaluation=evaluation.WINDOWED if windowed else evaluation.PAIRED,
        schema=StateSchema.of_records(),
        route=tuple(equal_columns(query)),
        clock=clock_by(query.attribute, pipeline.source),
        whole=evaluation.ONE_BY_ONE,
    )


def _alike(
    lane: MakeLanePart, shard: MakeShardPart, evaluated: Evaluation, *, settles: bool = False
) -> Callable[[Window], Parts]:
    """Return what gives the parts of a class if all of its windows are evaluated alike."""

    def parts(window: Window) -> Parts:
        numbering = wids.grid(window)
        extents = _numbered_by(numbering)
        return Parts(lane, shard, evaluated, extents, settles=settles, numbering=numbering)

    return parts


def _cumulating(window: Window) -> Parts:
    numbering = numbering_of(cast("Cumulate", window))
    return Parts(
        partial(SlidingLanePart, numbering=numbering),
        partial(CumulateShardPart, numbering=numbering),
        evaluation.PERIODS,
        _numbered_by(numbering),
        settles=True,
        numbering=numbering,
    )


_DEFINED = partial(_alike, AtRecordsLanePart, AtRecordsShardPart)

for _kind, _parts in {
    Sliding.kind: _alike(SlidingLanePart, SlidingShardPart, evaluation.SLICES, settles=True),
    CalendarWindow.kind: _of_calendars,
    Landmark.kind: _alike(SlidingLanePart, LandmarkShardPart, evaluation.CUMULATIVE, settles=True),
    Cumulate.kind: _cumulating,
    RowWindow.kind: _of_rows,
    SlideByTuple.kind: _DEFINED(evaluation.DEFINED),
    SlideByN.kind: _DEFINED(evaluation.DEFINED),
    SlideByRank.kind: _DEFINED(evaluation.DEFINED_BY_RANK),
    Session.kind: _of_sessions,
}.items():
    PARTS.add(_kind, _parts, f"{__name__}: {_kind}")
