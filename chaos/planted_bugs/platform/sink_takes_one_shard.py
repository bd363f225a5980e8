"""A sink that writes only the rows of the last shard.

Defect: frames of several shards are stored under one name and replace each other.
How one gets it: a dictionary by query, filled in a loop over shards.
Expected: rows are lost.
"""

from collections.abc import Sequence
from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import keyed, several_shards, some_flow
from chaos.simulator.platform.job import SimulatedJob
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.spelling import Tables
from windowing.engine.shard import Emission


class LastShardJob(SimulatedJob):
    """Keeps the rows of one shard per query."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        whole = self._spelled

        def of_the_last(emissions: Sequence[Emission], batch: int) -> Tables:
            tables = whole(emissions, batch)
            for emission in emissions:
                own = whole([emission], batch).items()
                tables |= {name: lines for name, lines in own if lines and "query" in name}
            return tables

        self._spelled = of_the_last


BUG = planted_bug(
    EngineParts("sink_takes_one_shard", job=LastShardJob),
    "deterministic",
    shows_in=some_flow(keyed, several_shards),
)
