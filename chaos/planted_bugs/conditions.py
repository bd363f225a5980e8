"""Conditions on the pipelines in which a bug can show.

A search for a bug in joins need not draw sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from windowing.engine.families.family import Family
from windowing.engine.plan import plan_of
from windowing.engine.rows.two_stage import why_one_stage
from windowing.engine.tuning import tuned
from windowing.model.asof import AsofQuery
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.operators.join import PolicyJoinQuery
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import AggregateStep, WindowStep
from windowing.model.paths import parse_path
from windowing.model.query import Flow, JoinQuery
from windowing.model.window_join import WindowJoinQuery
from windowing.model.windows.by_record import SlideByN, SlideByRank, SlideByTuple
from windowing.model.windows.calendar import CalendarWindow
from windowing.model.windows.cumulate import Cumulate
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.policy import PartitionEviction, Policy
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.session import Session
from windowing.model.windows.sliding import Sliding
from windowing.model.windows.window import ROW_NUM, Window

F = TypeVar("F", bound=Flow)
Holds = Callable[[Pipeline, F], bool]


@dataclass(frozen=True)
class Some(Generic[F]):
    """Pipelines with a flow of a kind that meets several conditions.

    Attributes:
        kind: the kind; None: any.
        asked: the conditions, all of which one of them must meet.
    """

    kind: type[F] | None
    asked: tuple[Holds[F], ...]

    def __call__(self, pipeline: Pipeline) -> bool:
        flows: Sequence[Any] = pipeline.flows if self.kind is None else pipeline.of(self.kind)
        return any(all(holds(pipeline, flow) for holds in self.asked) for flow in flows)


def some_flow(*asked: Holds[Flow]) -> Some[Flow]:
    return Some(None, asked)


def some_query(*asked: Holds[Query]) -> Some[Query]:
    return Some(Query, asked)


def some_join(*asked: Holds[JoinQuery]) -> Some[JoinQuery]:
    """Return the condition that a pipeline is a join by distance that meets all of these."""
    return Some(JoinQuery, (_by_distance, *asked))


def some_policy_join(*asked: Holds[PolicyJoinQuery]) -> Some[PolicyJoinQuery]:
    return Some(PolicyJoinQuery, asked)


def some_asof(*asked: Holds[AsofQuery]) -> Some[AsofQuery]:
    return Some(AsofQuery, asked)


def some_window_join(*asked: Holds[WindowJoinQuery]) -> Some[WindowJoinQuery]:
    return Some(WindowJoinQuery, asked)


def some_operators(*asked: Holds[OperatorQuery]) -> Some[OperatorQuery]:
    return Some(OperatorQuery, asked)


def _by_distance(_: Pipeline, join: JoinQuery) -> bool:
    return not isinstance(join, PolicyJoinQuery | AsofQuery | WindowJoinQuery)


@dataclass(frozen=True)
class with_windows:  # noqa: N801 - reads as the functions below do
    kind: type[Window]

    def __call__(self, _: Pipeline, query: Query) -> bool:
        return isinstance(query.window, self.kind)


sliding = with_windows(Sliding)
landmark = with_windows(Landmark)
calendar = with_windows(CalendarWindow)
cumulate = with_windows(Cumulate)
by_tuple = with_windows(SlideByTuple)
by_n = with_windows(SlideByN)
by_rank = with_windows(SlideByRank)


def session(_: Pipeline, query: Query) -> bool:
    return isinstance(query.window, Session) and query.window.attribute != ROW_NUM


def session_of_rows(_: Pipeline, query: Query) -> bool:
    return isinstance(query.window, Session) and query.window.attribute == ROW_NUM


def rows_in_log(_: Pipeline, query: Query) -> bool:
    return isinstance(query.window, RowWindow) and query.window.order == "log"


def ranked_rows(_: Pipeline, query: Query) -> bool:
    return isinstance(query.window, RowWindow) and query.window.order == "event_time"


def updates(_: Pipeline, query: Flow) -> bool:
    return query.late.policy == "update"


def dead_letters(_: Pipeline, query: Flow) -> bool:
    return query.late.policy == "dead_letter"


def consistent(_: Pipeline, query: Flow) -> bool:
    """Whether a record that is late for one window is late for all."""
    return query.late.mode == "consistent"


def discarding(_: Pipeline, query: Query) -> bool:
    return query.accumulation == "discarding"


def retracting(_: Pipeline, query: Query) -> bool:
    return query.accumulation == "retracting"


def with_extents_in_time(pipeline: Pipeline, query: Query) -> bool:
    """Whether a log may change the query, or add one like it."""
    own = query.window.attribute == pipeline.source.event_time.field
    return own and isinstance(query.window, Sliding)


def outer(_: Pipeline, join: JoinQuery) -> bool:
    return join.kind != "inner"


def defined(_: Pipeline, query: Query) -> bool:
    return query.window.traits.at_records


def dropping(_: Pipeline, query: Flow) -> bool:
    """Whether late records without a window are refused."""
    return query.late.policy != "update"


def overlapping(_: Pipeline, query: Query) -> bool:
    return query.window.range_ is not None and query.window.range_ > query.window.slide


def by_pattr(_: Pipeline, query: Query) -> bool:
    """Whether there are windows for each value of an attribute."""
    return query.window.pattr is not None


def nullable_key(pipeline: Pipeline, query: Flow) -> bool:
    fields = pipeline.source.fields
    return any(fields[name].nullable for name in query.key if name in fields)


def keyed(_: Pipeline, query: Flow) -> bool:
    return bool(query.key)


def without_floats(pipeline: Pipeline, query: Flow) -> bool:
    fields = pipeline.source.fields
    return all(fields[name].kind != "float" for name in query.key if name in fields)


def several_lanes(pipeline: Pipeline, _: Flow) -> bool:
    return pipeline.source.partitions > 1


def several_shards(pipeline: Pipeline, _: Flow) -> bool:
    return pipeline.shards > 1


def several_queries(pipeline: Pipeline, _: Query) -> bool:
    return len(pipeline.windows) > 1


def with_own_gaps(_: Pipeline, query: Query) -> bool:
    """Whether windows are sessions in which some keys have their own gap."""
    return bool(query.window.gaps)


def early(_: Pipeline, query: Query) -> bool:
    return query.early is not None


def another_attribute(pipeline: Pipeline, query: Query) -> bool:
    """Whether windows are over an attribute other than time and row number."""
    window, time = query.window, pipeline.source.event_time.field
    return window.attribute not in (ROW_NUM, time)


def can_be_fused(pipeline: Pipeline) -> bool:
    return plan_of(pipeline).why_lanes is None


def shares_slices(pipeline: Pipeline) -> bool:
    return bool(families_of(pipeline))


def families_of(pipeline: Pipeline) -> Sequence[Family]:
    with tuned(share_from_queries=2):
        return plan_of(pipeline).families


def idle(pipeline: Pipeline) -> bool:
    """Whether lanes may be idle."""
    return pipeline.source.idle_timeout_us is not None and pipeline.source.partitions > 1


def with_added_lanes(pipeline: Pipeline) -> bool:
    return bool(pipeline.source.added_lanes)


def iso_times(pipeline: Pipeline) -> bool:
    """Whether times are ISO texts, at least on one side of a join."""
    return any(part.event_time.unit == "iso" for part in pipeline.source.parts)


def fractions(pipeline: Pipeline) -> bool:
    """Whether times are numbers with a fraction."""
    return any(part.event_time.fraction for part in pipeline.source.parts)


def local_times(pipeline: Pipeline) -> bool:
    """Whether times are texts in some zone."""
    return any(part.event_time.spelling.name == "text" for part in pipeline.source.parts)


def paths(pipeline: Pipeline) -> bool:
    """Whether fields are inside of others."""
    parts = pipeline.source.parts
    return any(len(parse_path(name)) > 1 for part in parts for name in part.fields)


def with_floats(pipeline: Pipeline) -> bool:
    return any(field.kind == "float" for field in pipeline.source.fields.values())


def anywhere_nullable(pipeline: Pipeline) -> bool:
    return any(field.nullable for field in pipeline.source.fields.values())


def with_unit(pipeline: Pipeline) -> bool:
    """Whether times are integers."""
    return not iso_times(pipeline)


def per_key(pipeline: Pipeline) -> bool:
    return pipeline.source.disorder.progress_attr is not None


@dataclass(frozen=True)
class by_generator:  # noqa: N801 - reads as the functions above do
    kinds: tuple[type, ...]

    def __init__(self, *kinds: type) -> None:
        object.__setattr__(self, "kinds", kinds)

    def __call__(self, pipeline: Pipeline) -> bool:
        return isinstance(pipeline.source.disorder, self.kinds)


@dataclass(frozen=True)
class computing:  # noqa: N801 - reads as the functions above do
    """Queries with one of several aggregates.

    Attributes:
        kind: the type of their field; None: any.
    """

    functions: tuple[str, ...]
    kind: str | None = None

    def __call__(self, pipeline: Pipeline, query: Query) -> bool:
        fields = pipeline.source.fields
        return any(
            a.function in self.functions
            and (self.kind is None or (a.field is not None and fields[a.field].kind == self.kind))
            for a in query.aggregates
        )


def canonical(_: Pipeline, query: OperatorQuery) -> bool:
    return query.order == "canonical"


def numbered_by_lane_or_key(_: Pipeline, query: OperatorQuery) -> bool:
    """Whether reports are numbered within many units."""
    return bool(query.unit)


@dataclass(frozen=True)
class with_window:  # noqa: N801 - reads as the functions above do
    """Queries with an operator of a kind, over a window of a kind.

    Attributes:
        kind: `tumbling` or `sliding`; None: any.
        eviction: the kinds of its eviction policy; empty: any.
        trigger: the kinds of its trigger; empty: any, and none.
        partitions: the kinds of its partition eviction; empty: any, and none.
        step: the kinds of operators; empty: any.
    """

    kind: str | None = None
    eviction: tuple[type[Policy], ...] = ()
    trigger: tuple[type[Policy], ...] = ()
    partitions: tuple[type[PartitionEviction], ...] = ()
    step: tuple[type[WindowStep], ...] = ()

    def __call__(self, _: Pipeline, query: OperatorQuery) -> bool:
        return any(self._holds(step) for step in query.windows)

    def _holds(self, step: WindowStep) -> bool:
        window = step.window
        return (
            self.kind in (None, window.kind)
            and (not self.eviction or isinstance(window.eviction, self.eviction))
            and (not self.trigger or isinstance(window.trigger, self.trigger))
            and (not self.partitions or isinstance(window.partition_eviction, self.partitions))
            and (not self.step or isinstance(step, self.step))
        )


def in_two_stages(_: Pipeline, query: OperatorQuery) -> bool:
    """Whether the query runs on panes."""
    return why_one_stage(query) is None


def whole_windows_only(_: Pipeline, query: OperatorQuery) -> bool:
    """Whether an Aggregate over a sliding window is silent until that is full."""
    last = query.last
    return (
        isinstance(last, AggregateStep)
        and last.window.kind == "sliding"
        and not last.partial_windows
    )
