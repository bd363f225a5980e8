"""Units that lose the records they hold while others are processed.

Defect: a step keeps only the records of the units that it has touched.
How one gets it: what is kept is collected from the running units.
Expected: a unit whose state names records that are gone.
"""

from __future__ import annotations

from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.operator_conditions import numbered_by_lane_or_key, some_operators
from chaos.planted_bugs.planted import planted
from windowing.engine.rows.units import Units


class ForgetfulUnits(Units):
    """Units that keep the records of the running ones only."""

    def __init__(self, *arguments: Any, **tables: Any) -> None:
        super().__init__(*arguments, **tables)
        self._stays[:] = False


BUG = planted_bug(
    planted(
        "idle_units_lose_records",
        names={"windowing.engine.rows.shard_part:Units": ForgetfulUnits},
    ),
    "no error",
    shows_in=some_operators(numbered_by_lane_or_key),
)
