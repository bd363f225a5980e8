"""When a difference crosses a threshold."""

from __future__ import annotations

from windowing.engine.rows.policies.events import Row
from windowing.model.windows.policy import Delta


def crosses(policy: Delta, new: Row, old: Row) -> bool:
    """Whether a tuple lies more than the threshold beyond another, by the policy's attribute."""
    value, reference = new[policy.attribute], old[policy.attribute]
    return bool(value > reference and value - reference > policy.threshold)
