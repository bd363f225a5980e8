"""Conditions on queries with operators in which a bug can show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chaos.planted_bugs.conditions import Some
from windowing.model.file.pipeline import Pipeline
from windowing.model.operators.query import OperatorQuery
from windowing.model.operators.steps import AggregateStep, WindowStep
from windowing.model.windows.policy import PartitionEviction, Policy

Holds = Callable[[Pipeline, OperatorQuery], bool]


def _operators(pipeline: Pipeline) -> Sequence[OperatorQuery]:
    return pipeline.operators


def some_operators(*asked: Holds) -> Some[OperatorQuery]:
    """Return the condition that a pipeline has a query of operators that meets all of these."""
    return Some(_operators, asked)


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


def whole_windows_only(_: Pipeline, query: OperatorQuery) -> bool:
    """Whether an Aggregate over a sliding window is silent until that is full."""
    last = query.last
    return (
        isinstance(last, AggregateStep)
        and last.window.kind == "sliding"
        and not last.partial_windows
    )
