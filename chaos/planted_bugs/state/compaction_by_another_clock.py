"""Compaction that uses one clock for all queries.

Defect: a query over rows is compacted by progress in time, and vice versa.
How one gets it: "the" progress of the stream.
Expected: rows are missing from queries with a clock of their own.
"""

from __future__ import annotations

from collections.abc import Mapping

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import several_queries, some_query
from chaos.planted_bugs.planted import PlantedShard, planted
from windowing.engine.plan import plan_of
from windowing.engine.progress.clock import ClockId
from windowing.engine.progress.reached import Progress
from windowing.engine.windows.part import Tables
from windowing.model.file.pipeline import Pipeline, Query


def of_two_clocks(pipeline: Pipeline, _: Query) -> bool:
    """Whether queries close by different clocks."""
    clocks = {flow.clock for flow in plan_of(pipeline).flows}
    return len(clocks) > 1 and all(clock.key is None for clock in clocks)


class OneClockShard(PlantedShard):
    """Uses the clock of the last query."""

    def _retained(
        self, held: Mapping[str, Tables], after: Mapping[ClockId, Progress]
    ) -> dict[str, Tables]:
        _, clock = max(self._clocks.items())
        return super()._retained(held, dict.fromkeys(after, after[clock]))


BUG = planted_bug(
    planted("compaction_by_another_clock", shard=OneClockShard),
    "deterministic",
    shows_in=some_query(several_queries, of_two_clocks),
)
