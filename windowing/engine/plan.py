"""The execution plan: what runs for each query of a pipeline, or for its join, and why.

It is decided once, from the pipeline alone, and frozen. Lanes and shards are made from it wherever
they run (in one process, on Spark, in the simulator) and ask the pipeline for no such decision
again; `windowing.explain` tells people what stands here.
"""

from __future__ import annotations

from dataclasses import dataclass

from windowing.engine.progress.clock import ClockId, clock_by, clock_of, row_clock_of
from windowing.engine.windows.classes import Parts, parts_of
from windowing.model import Pipeline, Query


@dataclass(frozen=True)
class FlowPlan:
    """How one flow is run: a query, or what stands for one in a join.

    Attributes:
        query: what it computes.
        parts: the classes of its parts in lanes and in shards, what they keep, and why these.
        clock: the clock that closes its windows.
        row_clock: the clock that numbers its records as they arrive; None: it needs no numbers.
        provisional: whether rows of its open windows are sent, by its early policy or because idle
            lanes alone hold them open.
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
    """How a pipeline is run.

    Attributes:
        pipeline: what is run.
        flows: its queries, in the order of the file, or the one that stands for its join.
        clocks: every clock that a lane has; the first is that of event time, which all have.
        lanes, shards: how many of each there are.
        idle_timeout_us: how long a lane says nothing before provisional rows leave it out, by the
            wall clock; None: they wait for every lane.
    """

    pipeline: Pipeline
    flows: tuple[FlowPlan, ...]
    clocks: tuple[ClockId, ...]
    lanes: int
    shards: int
    idle_timeout_us: int | None

    @property
    def timed(self) -> tuple[FlowPlan, ...]:
        """The flows whose windows progress of event time closes, of all keys or of each."""
        attribute = self.clocks[0].attribute
        return tuple(flow for flow in self.flows if flow.clock.attribute == attribute)


def plan_of(pipeline: Pipeline) -> Plan:
    """Decide how a pipeline is run."""
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
    """Decide how one query of a pipeline is run."""
    return FlowPlan(
        query=query,
        parts=parts_of(query.window),
        clock=clock_of(query, pipeline.source),
        row_clock=row_clock_of(query),
        # A file whose windows cannot be shown before they close is refused when it is read.
        provisional=query.early is not None or pipeline.source.idle_timeout_us is not None,
    )
