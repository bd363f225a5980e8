"""The execution plan: what runs for each flow of a pipeline, and why.

It is computed once, from the pipeline alone, and frozen. Lanes and shards are built from it
wherever they run (in one process, on Spark, in the simulator) and make no such decisions
themselves; `windowing.explain` shows it to people.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Final

import polars as pl

from windowing.engine.families.family import Family
from windowing.engine.families.forming import families_of
from windowing.engine.families.lane_part import FamilyLanePart
from windowing.engine.families.shard_part import FamilyShardPart
from windowing.engine.flow_plan import FlowPlan
from windowing.engine.progress import is_memoryless
from windowing.engine.progress.clock import ClockId, clock_by
from windowing.engine.rows.two_stage import plan_operators, report_extents
from windowing.engine.tuning import tuning
from windowing.engine.wids import Ints
from windowing.engine.windows.asof import plan_asof
from windowing.engine.windows.classes import Extent, plan_join, plan_windows, window_extents
from windowing.engine.windows.classes import drawn_extents as pair_extents
from windowing.engine.windows.evaluation import SHARED
from windowing.engine.windows.window_join import plan_window_join, window_join_extents
from windowing.model import Pipeline, Query
from windowing.model.asof import AsofQuery
from windowing.model.file.pipeline import Source
from windowing.model.operators.query import OperatorQuery
from windowing.model.progress import Disorder
from windowing.model.query import Flow, JoinQuery
from windowing.model.window_join import WindowJoinQuery


@dataclass(frozen=True)
class FlowKind:
    """How flows of a kind are run.

    Attributes:
        plan: decide how one is run.
        extents: give start and end of the window, report or pair of each of its rows.
    """

    plan: Callable[[Any, Pipeline], FlowPlan[Any]]
    extents: Callable[[Any, pl.DataFrame], list[Extent]]


KINDS: Final[Mapping[str, FlowKind]] = {
    Query.flow_kind: FlowKind(plan_windows, window_extents),
    JoinQuery.flow_kind: FlowKind(plan_join, pair_extents),
    AsofQuery.flow_kind: FlowKind(plan_asof, pair_extents),
    WindowJoinQuery.flow_kind: FlowKind(plan_window_join, window_join_extents),
    OperatorQuery.flow_kind: FlowKind(plan_operators, report_extents),
}


def plan_flow(flow: Flow, pipeline: Pipeline) -> FlowPlan[Any]:
    """Decide how one flow of a pipeline is run, if it shares nothing with others."""
    return KINDS[flow.flow_kind].plan(flow, pipeline)


def extents(flow: Flow, rows: pl.DataFrame) -> list[Extent]:
    """Start and end of the window, report or pair of each row that a shard's part made."""
    return KINDS[flow.flow_kind].extents(flow, rows)


@dataclass(frozen=True)
class Plan:
    """How a pipeline runs.

    Attributes:
        pipeline: what is run.
        flows: all that runs: the flows that share nothing, in the order of the file, and families;
            those whose state is replaced come last.
        clocks: every clock that a lane has; the first is that of event time, which all have.
        idle_timeout_us: how long a lane says nothing before provisional rows leave it out, by the
            wall clock; None: they wait for every lane.
        families: the families of queries that share slices; each is one flow in place of its
            queries.
        why_lanes: why lanes have their own stage; None: they can be fused into packers and
            shards (`windowing.engine.fused`).
    """

    pipeline: Pipeline
    flows: tuple[FlowPlan[Any], ...]
    clocks: tuple[ClockId, ...]
    lanes: int
    shards: int
    idle_timeout_us: int | None
    families: tuple[Family, ...]
    why_lanes: str | None

    @cached_property
    def shares(self) -> dict[str, tuple[list[str], Ints]]:
        """By the name of a family, the names of its queries, and the variant of each."""
        return {family.name: (family.names, family.variant_of) for family in self.families}


def plan_of(pipeline: Pipeline) -> Plan:
    """Return the plan of a pipeline."""
    source = pipeline.source
    found = families_of(pipeline).values()
    families = tuple(one for one in found if len(one.founders) >= tuning().share_from_queries)
    shared = {name for family in families for name in family.names}
    alone = [plan_flow(flow, pipeline) for flow in pipeline.flows if flow.name not in shared]
    together = [_plan_family(family, pipeline) for family in families]
    flows = tuple(sorted([*alone, *together], key=lambda flow: flow.replaces))
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
        families=families,
        why_lanes=_why_lanes(source, flows),
    )


def closing_by_event_time(plan: Plan) -> list[FlowPlan[Query]]:
    """Return the flows whose windows progress of event time closes, of all keys or of each."""
    attribute = plan.clocks[0].attribute
    windows = (flow for flow in plan.flows if flow.query.window is not None)
    return [flow for flow in windows if flow.clock.attribute == attribute]


def _why_lanes(source: Source, flows: Sequence[FlowPlan[Any]]) -> str | None:
    """Return why chunks of a lane cannot be read apart; None: they can."""
    for flow in flows:
        if flow.whole is not None:
            return flow.whole
    for part in source.parts:
        if part.control.key is not None:
            return f"source {part.topic} has signed control records, whose counters a lane compares"
        if part.dense:
            return f"source {part.topic} is dense: a lane looks for holes between its chunks"
        if part.duplicates is not None:
            return f"source {part.topic} has duplicates: a lane knows what it kept before"
    for flow in flows:
        if flow.clock.key is not None or flow.row_clock is not None:
            return f"query {flow.name}: its progress is kept per key"
        if not all(map(is_memoryless, _generators(flow.clock, source))):
            return f"query {flow.name}: bounds depend on earlier records, not on each one alone"
    # Lanes say how far event time is, also where no query asks.
    for part in source.parts:
        if not is_memoryless(part.disorder):
            return f"source {part.topic}: bounds depend on earlier records, not on each one alone"
    return None


def _generators(clock: ClockId, source: Source) -> list[Disorder]:
    if clock.attribute == source.event_time.field:
        return [part.disorder for part in source.parts]
    return [source.generator_of(clock.attribute)]


def _plan_family(family: Family, pipeline: Pipeline) -> FlowPlan[Query]:
    return replace(
        plan_flow(family.query, pipeline),
        lane=partial(FamilyLanePart, family),
        shard=partial(FamilyShardPart, family),
        evaluation=SHARED,
    )
