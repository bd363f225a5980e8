"""A join over policy windows that probes partitions of other keys.

Defect: with both sides partitioned, a record is compared with all partitions of the other side.
How one gets it: the published library does so, where partitions only bound what is stored.
Expected: pairs of records of different partitions.
"""

from __future__ import annotations

from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_policy_join
from chaos.planted_bugs.planted import planted
from windowing.engine.rows.join_course import Course
from windowing.model.file.pipeline import Pipeline
from windowing.model.operators.join import PolicyJoinQuery


def shared(_: Pipeline, join: PolicyJoinQuery) -> bool:
    """Whether partitions meet in one shard, and their fields need not be equal."""
    return bool(join.partitions) and not join.partitions.keys() <= join.on.keys()


class WideCourse(Course):
    """Probes everything that the other window holds."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._join._own_key_only = False


BUG = planted_bug(
    planted(
        "policy_join_probes_all_partitions",
        names={"windowing.engine.rows.join_part:Course": WideCourse},
    ),
    "deterministic",
    shows_in=some_policy_join(shared),
)
