"""Threshold crossing of delta policies."""

from __future__ import annotations

from windowing.engine.rows.policies.events import Row
from windowing.model.windows.policy import Delta


def crosses(policy: Delta, new: Row, old: Row) -> bool:
    """Return whether a tuple's attribute exceeds another's by more than the threshold."""
    value, reference = new[policy.attribute], old[policy.attribute]
    return bool(value > reference and value - reference > policy.threshold)
