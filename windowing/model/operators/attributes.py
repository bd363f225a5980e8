"""The fields that a policy window names: they exist, and have the right types."""

from __future__ import annotations

from dataclasses import replace

from windowing.model.errors import WindowError, shown
from windowing.model.fields import FieldType
from windowing.model.source import Source, known_fields
from windowing.model.windows.policy import Delta, Policy, WindowClause


def known(field: str, source: Source) -> FieldType:
    """Return the type of a field.

    Raises:
        WindowError: E_ATTR_UNKNOWN.
    """
    if field not in source.fields:
        msg = f"{shown(field)} is not under source.fields ({known_fields(source)})"
        raise WindowError("E_ATTR_UNKNOWN", msg)
    return source.fields[field]


def typed(window: WindowClause, source: Source) -> WindowClause:
    """Return a window whose thresholds have the types of their fields.

    Raises:
        WindowError: E_ATTR_UNKNOWN or E_ATTR_TYPE.
    """
    for name in window.partition_by:
        known(name, source)
    trigger = None if window.trigger is None else _typed(window.trigger, source)
    return replace(window, eviction=_typed(window.eviction, source), trigger=trigger)


def _typed(policy: Policy, source: Source) -> Policy:
    """Return a policy; over a float its threshold is one, so that 5 and 5.0 mean the same."""
    if not isinstance(policy, Delta) or policy.attribute == source.event_time.field:
        return policy
    name, threshold = policy.attribute, policy.threshold
    type_ = known(name, source)
    if type_.kind == "string" or type_.nullable:
        msg = f"delta({name}, {threshold}): {name} is {type_}, not a number that is never null"
        raise WindowError("E_ATTR_TYPE", msg)
    return Delta(name, float(threshold)) if type_.kind == "float" else policy
