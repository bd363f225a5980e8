"""Units that lose the records they hold while others are processed.

Defect: a step keeps only the records of the units that it has touched.
How one gets it: what is kept is collected from the running units.
Expected: a unit whose state names records that are gone.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.operator_conditions import numbered_by_lane_or_key, some_operators
from chaos.planted_bugs.planted import planted
from windowing.engine.rows.tuples import places
from windowing.engine.rows.units import HELD, Units
from windowing.engine.windows.part import Tables


class ForgetfulUnits(Units):
    """Units that keep the records of the running ones only."""

    def tables(self) -> Tables:
        """Return the state after the step, without what idle units hold."""
        tables, known = super().tables(), places(self.records)
        kept = {known[row] for host in self._hosts.values() for row in host.snapshot(known)[1]}
        stays = pl.Series([place in kept for place in places(tables[HELD])], dtype=pl.Boolean)
        return {**tables, HELD: tables[HELD].filter(stays)}


BUG = planted_bug(
    planted(
        "idle_units_lose_records",
        names={"windowing.engine.rows.shard_part:Units": ForgetfulUnits},
    ),
    "no error",
    shows_in=some_operators(numbered_by_lane_or_key),
)
