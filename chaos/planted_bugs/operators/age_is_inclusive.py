"""Partitions that are evicted when they are exactly as old as they may be.

Defect: `>=` instead of `>`.
How one gets it: an age limit is read as the first age that is too much.
Expected: a window is lost one instant too early.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.operator_conditions import some_operators, with_window
from chaos.planted_bugs.planted import planted
from windowing.engine.rows.policies.events import Key
from windowing.engine.rows.policies.partitions import Partitions
from windowing.engine.rows.policies.selection import choose, needed
from windowing.model.windows.policy import PartitionAge, PartitionEviction, Profile, Selection


def needed_at_once(
    policy: PartitionEviction, parts: Partitions, now_us: int, profile: Profile
) -> bool:
    """Return whether a partition is as old as it may be."""
    return needed(_sooner(policy), parts, now_us, profile)


def chosen_at_once(
    policy: PartitionEviction,
    selection: Selection,
    parts: Partitions,
    now_us: int,
    profile: Profile,
) -> list[Key]:
    """Choose partitions that are as old as they may be."""
    return choose(_sooner(policy), selection, parts, now_us, profile)


def _sooner(policy: PartitionEviction) -> PartitionEviction:
    return replace(policy, age_us=policy.age_us - 1) if isinstance(policy, PartitionAge) else policy


BUG = planted_bug(
    planted(
        "age_is_inclusive",
        names={
            "windowing.engine.rows.policies.window:needed": needed_at_once,
            "windowing.engine.rows.policies.window:choose": chosen_at_once,
        },
    ),
    "deterministic",
    shows_in=some_operators(with_window(partitions=(PartitionAge,))),
)
