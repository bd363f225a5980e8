"""The execution plan: what runs for each query of a pipeline, or for its join, and why.

It is computed once, from the pipeline alone, and frozen. Lanes and shards are built from it
wherever they run (in one process, on Spark, in the simulator) and make no such decisions
themselves; `windowing.explain` shows it to people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Generic

from windowing.engine.families.family import Family
from windowing.engine.families.forming import families_of
from windowing.engine.families.lane_part import FamilyLanePart
from windowing.engine.families.shard_part import FamilyShardPart
from windowing.engine.progress import is_memoryless
from windowing.engine.progress.clock import ClockId, clock_by, clock_of, row_clock_of
from windowing.engine.rows.lane_part import RowLanePart
from windowing.engine.rows.shard_part import RowShardPart
from windowing.engine.rows.two_stage import TwoStagePart, why_one_stage
from windowing.engine.tuning import tuning
from windowing.engine.wids import Ints
from windowing.engine.windows.classes import F, Parts, join_parts_of, parts_of
from windowing.engine.windows.evaluation import SHARED
from windowing.engine.windows.part import LanePart, ReplacesState, ShardPart
from windowing.model import Pipeline, Query
from windowing.model.file.pipeline import Source
from windowing.model.operators.query import OperatorQuery
from windowing.model.progress import Disorder
from windowing.model.query import JoinQuery


@dataclass(frozen=True)
class FlowPlan(Generic[F]):
    """How one flow is run: a query, or a join.

    Attributes:
        query: which.
        parts: the classes of its parts in lanes and in shards, what they keep, and why these.
        clock: the clock that closes its windows, or delivers the records that it joins.
        row_clock: the clock that numbers its records as they arrive; None: it needs no numbers.
        provisional: whether rows of its open windows are sent, by its early policy or because idle
            lanes alone hold them open.
    """

    query: F
    parts: Parts[F]
    clock: ClockId
    row_clock: ClockId | None
    provisional: bool

    @property
    def name(self) -> str:
        """The name of the query, or of the join."""
        return self.query.name

    def lane_part(self, pipeline: Pipeline) -> LanePart:
        """Make its part of a lane."""
        return self.parts.lane(self.query, pipeline)

    def shard_part(self, pipeline: Pipeline) -> ShardPart:
        """Make its part of a shard."""
        return self.parts.shard(self.query, pipeline)


@dataclass(frozen=True)
class RowPlan:
    """How a query of operators is run: record by record, on the row path.

    Attributes:
        query: which.
        clock: the clock whose progress delivers its records.
        one_stage: why it does not run in two stages, by panes; None: it does.
    """

    query: OperatorQuery
    clock: ClockId
    one_stage: str | None
    row_clock: None = None
    provisional: bool = False

    @property
    def name(self) -> str:
        """The name of the query."""
        return self.query.name

    def lane_part(self, pipeline: Pipeline) -> LanePart:
        """Make its part of a lane."""
        return RowLanePart(self.query, pipeline)

    def row_part(self, pipeline: Pipeline) -> ReplacesState:
        """Make its part of a shard."""
        part = TwoStagePart if self.one_stage is None else RowShardPart
        return part(self.query, pipeline)


@dataclass(frozen=True)
class Plan:
    """How a pipeline runs.

    Attributes:
        pipeline: what is run.
        queries: its queries, in the order of the file, then families of them.
        operators: its queries of operators, in the order of the file.
        join: its join, which has no queries beside it.
        clocks: every clock that a lane has; the first is that of event time, which all have.
        lanes, shards: how many of each there are.
        idle_timeout_us: how long a lane says nothing before provisional rows leave it out, by the
            wall clock; None: they wait for every lane.
        families: the families of queries that share slices; each is a flow among `queries`, in
            place of its own queries.
        why_lanes: why lanes have a stage of their own; None: they can be fused into packers and
            shards (`windowing.engine.fused`).
    """

    pipeline: Pipeline
    queries: tuple[FlowPlan[Query], ...]
    operators: tuple[RowPlan, ...]
    join: FlowPlan[JoinQuery] | None
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

    @property
    def flows(self) -> tuple[FlowPlan[Query] | RowPlan | FlowPlan[JoinQuery], ...]:
        """All that runs: the queries, or the join."""
        return (*self.merged, *self.operators)

    @property
    def merged(self) -> tuple[FlowPlan[Query] | FlowPlan[JoinQuery], ...]:
        """The flows whose state is partial states or records, merged in any order."""
        return self.queries if self.join is None else (self.join,)

    @property
    def timed(self) -> tuple[FlowPlan[Query], ...]:
        """The queries whose windows progress of event time closes, of all keys or of each."""
        attribute = self.clocks[0].attribute
        return tuple(flow for flow in self.queries if flow.clock.attribute == attribute)


def plan_of(pipeline: Pipeline) -> Plan:
    """Return the plan of a pipeline."""
    source = pipeline.source
    families = _families(pipeline)
    shared = {name for family in families for name in family.names}
    alone = [query for query in pipeline.queries if query.name not in shared]
    queries = (
        *(plan_query(query, pipeline) for query in alone),
        *(_plan_family(family, pipeline) for family in families),
    )
    event_time = clock_by(source.event_time.field, source)
    operators = tuple(
        RowPlan(query, event_time, why_one_stage(query)) for query in pipeline.operators
    )
    join = None if pipeline.join_query is None else _plan_join(pipeline.join_query, pipeline)
    clocks = [event_time]
    for flow in queries:
        clocks += [flow.clock, *filter(None, [flow.row_clock])]
    return Plan(
        pipeline=pipeline,
        queries=queries,
        operators=operators,
        join=join,
        clocks=tuple(dict.fromkeys(clocks)),
        lanes=source.partitions,
        shards=pipeline.shards,
        idle_timeout_us=source.idle_timeout_us,
        families=families,
        why_lanes=_why_lanes(pipeline, queries),
    )


def _why_lanes(pipeline: Pipeline, queries: Sequence[FlowPlan[Query]]) -> str | None:
    """Return why chunks of a lane cannot be read apart; None: they can."""
    source = pipeline.source
    if pipeline.operators or pipeline.join_query is not None:
        return "records of operators and joins are kept one by one, in the order of their lanes"
    for part in source.parts:
        if part.control.key is not None:
            return f"source {part.topic} has signed control records, whose counters a lane compares"
        if part.dense:
            return f"source {part.topic} is dense: a lane looks for holes between its chunks"
    for flow in queries:
        if not flow.parts.settles:
            return f"query {flow.name}: {flow.query.window.kind} windows need each record's place"
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


def plan_query(query: Query, pipeline: Pipeline) -> FlowPlan[Query]:
    """Decide how one query of a pipeline is run."""
    return FlowPlan(
        query=query,
        parts=parts_of(query.window),
        clock=clock_of(query, pipeline.source),
        row_clock=row_clock_of(query),
        # Parsing refuses early rows for windows that cannot be shown before they close.
        provisional=query.early is not None or pipeline.source.idle_timeout_us is not None,
    )


def _families(pipeline: Pipeline) -> tuple[Family, ...]:
    found = families_of(pipeline).values()
    return tuple(family for family in found if len(family.founders) >= tuning().share_from_queries)


def _plan_family(family: Family, pipeline: Pipeline) -> FlowPlan[Query]:
    """Return how queries are run that share slices."""
    alone = plan_query(family.query, pipeline)
    parts = replace(
        alone.parts,
        lane=partial(FamilyLanePart, family),
        shard=partial(FamilyShardPart, family),
        evaluation=SHARED,
    )
    return replace(alone, parts=parts)


def _plan_join(query: JoinQuery, pipeline: Pipeline) -> FlowPlan[JoinQuery]:
    """Decide how a join is run: by event time, and nothing is shown before it is whole."""
    clock = clock_by(query.attribute, pipeline.source)
    parts = join_parts_of(query)
    return FlowPlan(query=query, parts=parts, clock=clock, row_clock=None, provisional=False)
