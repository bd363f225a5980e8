"""Conditions on the pipelines in which a bug can show.

A search for a bug in joins need not draw sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from windowing.engine.families.family import Family
from windowing.engine.plan import plan_of
from windowing.engine.rows.two_stage import why_one_stage
from windowing.engine.tuning import tuned
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.operators.join import PolicyJoinQuery
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import AggregateStep, WindowStep
from windowing.model.query import Flow, JoinQuery
from windowing.model.windows.by_record import SlideByN, SlideByRank, SlideByTuple
from windowing.model.windows.landmark import Landmark
from windowing.model.windows.policy import PartitionEviction, Policy
from windowing.model.windows.rows import RowWindow
from windowing.model.windows.session import Session
from windowing.model.windows.sliding import Sliding
from windowing.model.windows.window import ROW_NUM

F = TypeVar("F", bound=Flow)
Holds = Callable[[Pipeline, F], bool]


@dataclass(frozen=True)
class Some(Generic[F]):
    """Pipelines with a flow that meets several conditions.

    Attributes:
        among: gives the flows that are asked.
        asked: the conditions, all of which one of them must meet.
    """

    among: Callable[[Pipeline], Sequence[F]]
    asked: tuple[Holds[F], ...]

    def __call__(self, pipeline: Pipeline) -> bool:
        """Whether some flow of the pipeline meets all conditions."""
        return any(
            all(holds(pipeline, flow) for holds in self.asked) for flow in self.among(pipeline)
        )


def _flows(pipeline: Pipeline) -> Sequence[Flow]:
    return pipeline.flows


def _queries(pipeline: Pipeline) -> Sequence[Query]:
    return pipeline.of(Query)


def _joins(pipeline: Pipeline) -> Sequence[JoinQuery]:
    return [join for join in pipeline.of(JoinQuery) if not isinstance(join, PolicyJoinQuery)]


def _policy_joins(pipeline: Pipeline) -> Sequence[PolicyJoinQuery]:
    return pipeline.of(PolicyJoinQuery)


def _operators(pipeline: Pipeline) -> Sequence[OperatorQuery]:
    return pipeline.of(OperatorQuery)


def some_flow(*asked: Holds[Flow]) -> Some[Flow]:
    """Return the condition that a pipeline has a query or a join that meets all of these."""
    return Some(_flows, asked)


def some_query(*asked: Holds[Query]) -> Some[Query]:
    """Return the condition that a pipeline has a query that meets all of these."""
    return Some(_queries, asked)


def some_join(*asked: Holds[JoinQuery]) -> Some[JoinQuery]:
    """Return the condition that a pipeline is a join by distance that meets all of these."""
    return Some(_joins, asked)


def some_policy_join(*asked: Holds[PolicyJoinQuery]) -> Some[PolicyJoinQuery]:
    """Return the condition that it joins over policy windows and meets all of these."""
    return Some(_policy_joins, asked)


def some_operators(*asked: Holds[OperatorQuery]) -> Some[OperatorQuery]:
    """Return the condition that a pipeline has a query of operators that meets all of these."""
    return Some(_operators, asked)


def sliding(_: Pipeline, query: Query) -> bool:
    """Whether windows are sliding or tumbling, over time or another attribute."""
    return isinstance(query.window, Sliding)


def with_extents_in_time(pipeline: Pipeline, query: Query) -> bool:
    """Whether a log may change the query, or add one like it."""
    own = query.window.attribute == pipeline.source.event_time.field
    return own and isinstance(query.window, Sliding)


def landmark(_: Pipeline, query: Query) -> bool:
    """Whether windows are landmark windows."""
    return isinstance(query.window, Landmark)


def session(_: Pipeline, query: Query) -> bool:
    """Whether windows are sessions in time."""
    return isinstance(query.window, Session) and query.window.attribute != ROW_NUM


def outer(_: Pipeline, join: JoinQuery) -> bool:
    """Whether it is an outer join."""
    return join.kind != "inner"


def rows_in_log(_: Pipeline, query: Query) -> bool:
    """Whether windows count rows in the order of the log."""
    window = query.window
    return isinstance(window, RowWindow) and window.order == "log"


def ranked_rows(_: Pipeline, query: Query) -> bool:
    """Whether windows count rows in the order of event time."""
    window = query.window
    return isinstance(window, RowWindow) and window.order == "event_time"


def defined(_: Pipeline, query: Query) -> bool:
    """Whether records define the windows."""
    return query.window.traits.at_records


def by_tuple(_: Pipeline, query: Query) -> bool:
    """Whether each value defines a window."""
    return isinstance(query.window, SlideByTuple)


def by_n(_: Pipeline, query: Query) -> bool:
    """Whether each n-th record in the order of the log defines a window."""
    return isinstance(query.window, SlideByN)


def by_rank(_: Pipeline, query: Query) -> bool:
    """Whether each n-th record in the order of event time defines a window."""
    return isinstance(query.window, SlideByRank)


def updates(_: Pipeline, query: Flow) -> bool:
    """Whether late records update windows."""
    return query.late.policy == "update"


def consistent(_: Pipeline, query: Flow) -> bool:
    """Whether a record that is late for one window is late for all."""
    return query.late.mode == "consistent"


def dead_letters(_: Pipeline, query: Flow) -> bool:
    """Whether late records without a window become dead letters."""
    return query.late.policy == "dead_letter"


def dropping(_: Pipeline, query: Flow) -> bool:
    """Whether late records without a window are refused."""
    return query.late.policy != "update"


def discarding(_: Pipeline, query: Query) -> bool:
    """Whether later revisions show only what is new."""
    return query.accumulation == "discarding"


def retracting(_: Pipeline, query: Query) -> bool:
    """Whether later revisions retract earlier ones."""
    return query.accumulation == "retracting"


def overlapping(_: Pipeline, query: Query) -> bool:
    """Whether windows overlap."""
    return query.window.range_ is not None and query.window.range_ > query.window.slide


def by_pattr(_: Pipeline, query: Query) -> bool:
    """Whether there are windows for each value of an attribute."""
    return query.window.pattr is not None


def nullable_key(pipeline: Pipeline, query: Flow) -> bool:
    """Whether a field of the key may be null."""
    fields = pipeline.source.fields
    return any(fields[name].nullable for name in query.key if name in fields)


def keyed(_: Pipeline, query: Flow) -> bool:
    """Whether rows have keys."""
    return bool(query.key)


def without_floats(pipeline: Pipeline, query: Flow) -> bool:
    """Whether no field of the key is a float."""
    fields = pipeline.source.fields
    return all(fields[name].kind != "float" for name in query.key if name in fields)


def several_lanes(pipeline: Pipeline, _: Flow) -> bool:
    """Whether there are several lanes."""
    return pipeline.source.partitions > 1


def several_shards(pipeline: Pipeline, _: Flow) -> bool:
    """Whether there are several shards."""
    return pipeline.shards > 1


def several_queries(pipeline: Pipeline, _: Query) -> bool:
    """Whether there are several queries."""
    return len(pipeline.windows) > 1


def session_of_rows(_: Pipeline, query: Query) -> bool:
    """Whether windows are sessions over rows."""
    return isinstance(query.window, Session) and query.window.attribute == ROW_NUM


def with_own_gaps(_: Pipeline, query: Query) -> bool:
    """Whether windows are sessions in which some keys have their own gap."""
    return bool(query.window.gaps)


def early(_: Pipeline, query: Query) -> bool:
    """Whether there are early rows."""
    return query.early is not None


def another_attribute(pipeline: Pipeline, query: Query) -> bool:
    """Whether windows are over an attribute other than time and row number."""
    window, time = query.window, pipeline.source.event_time.field
    return window.attribute not in (ROW_NUM, time)


def can_be_fused(pipeline: Pipeline) -> bool:
    """Whether the fused plan applies."""
    return plan_of(pipeline).why_lanes is None


def shares_slices(pipeline: Pipeline) -> bool:
    """Whether some queries can share slices."""
    return bool(families_of(pipeline))


def families_of(pipeline: Pipeline) -> Sequence[Family]:
    """Return the families of queries that can share slices."""
    with tuned(share_from_queries=2):
        return plan_of(pipeline).families


def idle(pipeline: Pipeline) -> bool:
    """Whether lanes may be idle."""
    return pipeline.source.idle_timeout_us is not None and pipeline.source.partitions > 1


def with_added_lanes(pipeline: Pipeline) -> bool:
    """Whether a lane joined."""
    return bool(pipeline.source.added_lanes)


def iso_times(pipeline: Pipeline) -> bool:
    """Whether times are ISO texts, at least on one side of a join."""
    return any(part.event_time.unit == "iso" for part in pipeline.source.parts)


def with_floats(pipeline: Pipeline) -> bool:
    """Whether a field is a float."""
    return any(field.kind == "float" for field in pipeline.source.fields.values())


def anywhere_nullable(pipeline: Pipeline) -> bool:
    """Whether a field may be null."""
    return any(field.nullable for field in pipeline.source.fields.values())


def with_unit(pipeline: Pipeline) -> bool:
    """Whether times are integers."""
    return not iso_times(pipeline)


def per_key(pipeline: Pipeline) -> bool:
    """Whether progress is per key."""
    return pipeline.source.disorder.progress_attr is not None


@dataclass(frozen=True)
class by_generator:  # noqa: N801 - reads as the functions above do
    """Pipelines with one of several generators of progress.

    Attributes:
        kinds: the generators.
    """

    kinds: tuple[type, ...]

    def __init__(self, *kinds: type) -> None:
        object.__setattr__(self, "kinds", kinds)

    def __call__(self, pipeline: Pipeline) -> bool:
        """Whether the pipeline has one of the generators."""
        return isinstance(pipeline.source.disorder, self.kinds)


@dataclass(frozen=True)
class computing:  # noqa: N801 - reads as the functions above do
    """Queries with one of several aggregates.

    Attributes:
        functions: the names of the aggregates.
        kind: the type of their field; None: any.
    """

    functions: tuple[str, ...]
    kind: str | None = None

    def __call__(self, pipeline: Pipeline, query: Query) -> bool:
        """Whether the query has one of the aggregates."""
        fields = pipeline.source.fields
        return any(
            a.function in self.functions
            and (self.kind is None or (a.field is not None and fields[a.field].kind == self.kind))
            for a in query.aggregates
        )


def canonical(_: Pipeline, query: OperatorQuery) -> bool:
    """Whether records are processed in canonical order."""
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
        """Whether one of the query's operators is such."""
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
