"""A join over policy windows that takes the right record first where times are equal.

Defect: the canonical order reversed among records of one instant.
How one gets it: two sorted streams, merged with the wrong one preferred.
Expected: other pairs where a record finds one of its own instant.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_policy_join
from chaos.planted_bugs.planted import planted
from windowing.engine.rows.join_course import Course
from windowing.engine.rows.join_part import PolicyJoinShardPart
from windowing.engine.windows.part import Tables


class RightFirstShardPart(PolicyJoinShardPart):
    """Orders the lanes of one instant from the last."""

    def _courses(self, tables: Tables) -> list[Course]:
        self._ranks = {lane: -lane for lane in self._ranks}
        return super()._courses(tables)


BUG = planted_bug(
    planted("policy_join_right_first", RightFirstShardPart),
    "deterministic",
    shows_in=some_policy_join(),
)
