"""The execution plan: what runs for each query of a pipeline, or for its join, and why.

It is computed once, from the pipeline alone, and frozen. Lanes and shards are built from it
wherever they run (in one process, on Spark, in the simulator) and make no such decisions
themselves; `windowing.explain` shows it to people.
"""

from __future__ import annotations

from dataclasses import dataclass

from windowing.engine.progress.clock import ClockId, clock_by, clock_of, row_clock_of
from windowing.engine.windows.classes import Parts, parts_of
from windowing.model import Pipeline, Query


@dataclass(frozen=True)
class FlowPlan:
    """How one flow runs: a query, or the one that represents a join.

    Attributes:
        query: the query.
        parts: its parts in lanes and shards, what they keep, and why.
        clock: the clock that closes its windows.
        row_clock: the clock that numbers its records on arrival; None: no numbers are needed.
        provisional: whether rows of its open windows are sent, by its early policy or because only
            idle lanes hold them open.
    """

    query: Query
    parts: Parts
    clock: ClockId
    row_clock: ClockId | None
    provisional: bool

    @property
    def name(self) -> str:
        """The query's name."""
        return self.query.name


@dataclass(frozen=True)
class Plan:
    """How a pipeline runs.

    Attributes:
        pipeline: the pipeline.
        flows: its queries, in file order, or the one that represents its join.
        clocks: all clocks of a lane; the first is that of event time, which is always there.
        lanes, shards: the number of each.
        idle_timeout_us: how long a lane is silent, by the wall clock, before provisional rows
            exclude it; None: they wait for every lane.
    """

    pipeline: Pipeline
    flows: tuple[FlowPlan, ...]
    clocks: tuple[ClockId, ...]
    lanes: int
    shards: int
    idle_timeout_us: int | None

    @property
    def timed(self) -> tuple[FlowPlan, ...]:
        """The flows whose windows close by progress of event time, overall or per key."""
        attribute = self.clocks[0].attribute
        return tuple(flow for flow in self.flows if flow.clock.attribute == attribute)


def plan_of(pipeline: Pipeline) -> Plan:
    """Return the plan of a pipeline."""
    source = pipeline.source
    flows = tuple(plan_flow(query, pipeline) for query in pipeline.queries)
    clocks = [clock_by(source.event_time.field, source)]
    for flow in flows:
        clocks += [flow.clock, *filter(None, [flow.row_clock])]
    return Plan(
        pipeline=pipeline,
        flows=flows,
        clocks=tuple(dict.fromkeys(clocks)),
        lanes=source.partitions,
        shards=pipeline.shards,
        idle_timeout_us=source.idle_timeout_us,
    )


def plan_flow(query: Query, pipeline: Pipeline) -> FlowPlan:
    """Return the plan of one query of a pipeline."""
    return FlowPlan(
        query=query,
        parts=parts_of(query.window),
        clock=clock_of(query, pipeline.source),
        row_clock=row_clock_of(query),
        # Parsing refuses early rows for windows that cannot be shown before they close.
        provisional=query.early is not None or pipeline.source.idle_timeout_us is not None,
    )
