"""A sink that writes the rows of one shard, the one that came last.

Defect: frames of several shards are put under one name, one in the place of the other.
How one gets it: a dictionary by query, filled in a loop over shards.
Expected: rows are lost.
"""

from collections.abc import Sequence

from chaos.guilty.guilt import guilty
from chaos.guilty.lairs import keyed, lair, several_shards
from chaos.simulator.job import Job, Tables
from chaos.simulator.parts import Parts
from windowing.shard import Emission


class LastShardJob(Job):
    """Has room for one shard's rows."""

    def _tables(self, emissions: Sequence[Emission]) -> Tables:
        tables = super()._tables(emissions)
        for emission in emissions:
            own = super()._tables([emission])
            tables |= {name: lines for name, lines in own.items() if name.startswith("query ")}
        return tables


GUILTY = guilty(
    Parts("sink_takes_one_shard", job=LastShardJob),
    "deterministic",
    lair=lair(keyed, several_shards),
)
