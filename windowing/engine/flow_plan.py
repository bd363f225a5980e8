"""How one flow of a pipeline is run, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from windowing.engine.aggregates import StateSchema
from windowing.engine.progress.clock import ClockId
from windowing.engine.windows.evaluation import Evaluation
from windowing.engine.windows.part import LanePart
from windowing.model import Pipeline
from windowing.model.query import Flow

F_co = TypeVar("F_co", bound=Flow, covariant=True)


@dataclass(frozen=True)
class FlowPlan(Generic[F_co]):
    """How one flow is run.

    Attributes:
        shard: makes its part of a shard: a `ReplacesState` if the state is replaced, else a
            `ShardPart` (`windowing.engine.windows.part`).
        replaces: whether each step replaces the state, as the order of records decides it; else
            additions are merged, in any order.
        evaluation: what the two parts do together, and why.
        schema: of its partial states.
        route: the columns whose hash selects a record's shard; empty: one shard has all.
        clock: the clock that closes its windows, or delivers its records.
        row_clock: the clock that numbers its records as they arrive; None: it needs no numbers.
        whole: why a lane must read its chunks one behind the other; None: by this flow, it need
            not.
        waits_for: the lanes whose progress makes its rows due; None: all.
    """

    query: F_co
    lane: Callable[[Any, Pipeline], LanePart]
    shard: Callable[[Any, Pipeline], Any]
    replaces: bool
    evaluation: Evaluation
    schema: StateSchema
    route: tuple[str, ...]
    clock: ClockId
    row_clock: ClockId | None = None
    whole: str | None = None
    waits_for: tuple[int, ...] | None = None

    @property
    def due_by(self) -> ClockId:
        """The clock by which its rows are due: of the lanes that it waits for."""
        return replace(self.clock, lanes=self.waits_for)

    @property
    def name(self) -> str:
        """The name of the flow."""
        return self.query.name

    def lane_part(self, pipeline: Pipeline) -> LanePart:
        """Make its part of a lane."""
        return self.lane(self.query, pipeline)

    def shard_part(self, pipeline: Pipeline) -> Any:
        """Make its part of a shard, as `shard` says."""
        return self.shard(self.query, pipeline)
