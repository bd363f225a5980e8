"""Policy windows against a source: the fields that they name, and the windows of a join's sides.

Source: Gedik 2014, section 6.1.2; the accepted windows of a join: `spl.md` 10.4.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from windowing.model.errors import WindowError, shown
from windowing.model.fields import FieldType
from windowing.model.operators.language import parse_clause, spelled
from windowing.model.operators.models import check_join_window
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


_CLAUSE: Final = re.compile(r"\s*(sliding|tumbling)\b.*", re.IGNORECASE | re.DOTALL)


def is_clause(window: object) -> bool:
    """Return whether a side's window is written as a policy window, not as a length of time."""
    return isinstance(window, Mapping) or (
        isinstance(window, str) and _CLAUSE.fullmatch(window) is not None
    )


def parse_side(window: object, source: Source) -> WindowClause:
    """Parse and check the window of a side.

    Args:
        window: text or a mapping, as of any operator.
        source: what its records are.

    Raises:
        WindowError: E_SYNTAX, E_VALUE, E_ATTR_UNKNOWN or E_ATTR_TYPE.
        OperatorError: not a window of a join.
    """
    clause = parse_clause(window, source.event_time.field)
    check_join_window(clause, spelled(clause, source.event_time.field))
    return typed(clause, source)
