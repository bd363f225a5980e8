"""How the engine runs each kind of flow: the one table of kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from windowing.engine.flow_plan import FlowPlan
from windowing.engine.rows.planned import plan_operators, report_extents
from windowing.engine.windows.classes import Extent, plan_join, plan_windows, window_extents
from windowing.engine.windows.classes import drawn_extents as pair_extents
from windowing.model import Pipeline, Query
from windowing.model.operators.query import OperatorQuery
from windowing.model.query import Flow, JoinQuery


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
    OperatorQuery.flow_kind: FlowKind(plan_operators, report_extents),
}


def plan_flow(flow: Flow, pipeline: Pipeline) -> FlowPlan[Any]:
    """Decide how one flow of a pipeline is run, if it shares nothing with others."""
    return KINDS[flow.flow_kind].plan(flow, pipeline)


def extents(flow: Flow, rows: pl.DataFrame) -> list[Extent]:
    """Start and end of the window, report or pair of each row that a shard's part made."""
    return KINDS[flow.flow_kind].extents(flow, rows)
