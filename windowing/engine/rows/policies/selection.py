"""The choice of partitions to evict.

Source: Gedik 2014, section 3.5; where the paper names no rule, the library's.
"""

from __future__ import annotations

from windowing.engine.rows.policies.events import Key
from windowing.engine.rows.policies.partitions import Partitions
from windowing.model.windows.policy import (
    PartitionAge,
    PartitionCount,
    PartitionEviction,
    Profile,
    Selection,
)

_SECOND_US = 1_000_000


def needed(policy: PartitionEviction, parts: Partitions, now_us: int, profile: Profile) -> bool:
    """Return whether the policy is violated, so that a partition must be evicted."""
    if isinstance(policy, PartitionCount):
        return len(parts) > policy.size
    if not isinstance(policy, PartitionAge):
        return parts.total > policy.size
    oldest_us = next(iter(parts.updated_us.values()), None)
    if oldest_us is None:
        return False
    if profile is Profile.paper:
        return now_us - oldest_us > policy.age_us
    # The library truncates the age to whole seconds.
    return _seconds(oldest_us) + _seconds(policy.age_us) < _seconds(now_us)


def choose(
    policy: PartitionEviction,
    selection: Selection,
    parts: Partitions,
    now_us: int,
    profile: Profile,
) -> list[Key]:
    """Choose the partitions to evict, in order.

    Args:
        policy: the violated policy.
        selection: which go first; not `user`.
        parts: the candidates.
        now_us: the time.
        profile: the rules to follow.
    """
    if isinstance(policy, PartitionAge):
        return [key for key, at in parts.updated_us.items() if _old(policy, at, now_us, profile)]
    order = _order(selection, parts)
    if isinstance(policy, PartitionCount):
        return order[: len(order) - policy.size]
    victims: list[Key] = []
    for key in order:
        victims.append(key)
        if len(parts[key]):
            break
    return victims


def _order(selection: Selection, parts: Partitions) -> list[Key]:
    keys = list(parts.updated_us)
    if selection is Selection.lfu:
        keys.sort(key=lambda key: parts[key].inserts)
    if selection is Selection.oldest:
        keys.sort(key=lambda key: parts[key].created_us)
    return keys


def _old(policy: PartitionAge, updated_us: int, now_us: int, profile: Profile) -> bool:
    if profile is Profile.paper:
        return now_us - updated_us > policy.age_us
    return _seconds(updated_us) <= _seconds(now_us) - _seconds(policy.age_us)


def _seconds(us: int) -> int:
    return us // _SECOND_US
