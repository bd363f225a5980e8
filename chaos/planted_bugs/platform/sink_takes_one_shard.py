"""A sink that writes the rows of one shard, the one that came last.

Defect: frames of several shards are put under one name, one in the place of the other.
How one gets it: a dictionary by query, filled in a loop over shards.
Expected: rows are lost.
"""

from collections.abc import Sequence
from typing import Any

from chaos.planted_bugs.guilt import guilty
from chaos.planted_bugs.lairs import keyed, lair, several_shards
from chaos.simulator.platform.job import Job
from chaos.simulator.platform.parts import Parts
from chaos.simulator.platform.spelling import Tables
from windowing.engine.shard import Emission


class LastShardJob(Job):
    """Has room for one shard's rows."""

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


GUILTY = guilty(
    Parts("sink_takes_one_shard", job=LastShardJob),
    "deterministic",
    lair=lair(keyed, several_shards),
)
