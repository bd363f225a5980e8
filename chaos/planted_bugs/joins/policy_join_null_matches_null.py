"""A join over policy windows that pairs records whose equal fields are null.

Defect: keys with null are looked up like any other.
How one gets it: a hash table whose keys may be None.
Expected: pairs of records that have nothing in common.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_policy_join
from chaos.planted_bugs.planted import planted
from windowing.engine.rows.join_course import Course
from windowing.engine.rows.operators.operator import Tuple
from windowing.model.file.pipeline import Pipeline
from windowing.model.operators.join import PolicyJoinQuery


def of_equal_keys(_: Pipeline, join: PolicyJoinQuery) -> bool:
    """Whether some fields must be equal."""
    return bool(join.on)


class NullCourse(Course):
    """Compares null with null."""

    def _matches(self, left: Tuple, right: Tuple) -> bool:
        known = {name: 0 for name in self._query.on if left[name] is None}
        return super()._matches({**left, **known}, right)


BUG = planted_bug(
    planted(
        "policy_join_null_matches_null",
        names={"windowing.engine.rows.join_part:Course": NullCourse},
    ),
    "deterministic",
    shows_in=some_policy_join(of_equal_keys),
)
