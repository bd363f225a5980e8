"""The windows of operators in a pipeline file, as text or as a mapping.

Text: `SLIDING count(20), count(5) PARTITIONED BY carrier EVICT partition_count(50) BY lfu`. As a
mapping: `{sliding: [count(20), count(5)], partition_by: [carrier], partition_eviction:
partition_count(50), selection: lfu}`.

Source: the policies are those of Gedik 2014, section 3; the accepted windows of a join: `spl.md`
10.4; the spelling is ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from windowing.model.errors import WindowError, meant, shown
from windowing.model.lengths import LENGTH_MAX, duration_us
from windowing.model.operators.models import check_join_window
from windowing.model.paths import QUOTED, in_text, named, split_names
from windowing.model.source import Source, known_fields
from windowing.model.types import FieldType
from windowing.model.windows.policy import (
    Count,
    Delta,
    PartitionAge,
    PartitionCount,
    PartitionEviction,
    Policy,
    PolicyError,
    Punct,
    Selection,
    Time,
    TupleCount,
    WindowClause,
    count,
)

EXAMPLE: Final = "SLIDING count(20), count(5) PARTITIONED BY carrier"
_CLAUSE: Final = re.compile(
    r"\s*(?P<kind>tumbling|sliding)\s+(?P<policies>.+?)"
    rf"(?:\s+partitioned\s+by\s+(?P<by>(?:{QUOTED}|[^\"])+?))?"
    r"(?:\s+evict\s+(?P<evict>\w+\s*\([^()]*\))(?:\s+by\s+(?P<selection>\w+))?)?\s*",
    re.IGNORECASE | re.DOTALL,
)
_ARGUMENTS: Final = rf"(?:{QUOTED}|[^()\"])*"
_CALL: Final = re.compile(rf"\s*(?P<name>\w+)\s*\((?P<arguments>{_ARGUMENTS})\)\s*")
_CALLS: Final = re.compile(rf",\s*(?=\w+\s*\({_ARGUMENTS}\)\s*(?:,|$))")
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_KEYS: Final = frozenset({"tumbling", "sliding", "partition_by", "partition_eviction", "selection"})
_TEXT_MAX: Final = 2_000
_COUNT_MAX: Final = 2**53


def parse_clause(source: object, event_time: str) -> WindowClause:
    """Parse the window of an operator; a sliding one without a trigger reports at every tuple.

    Args:
        source: text or a mapping.
        event_time: the field whose differences are lengths of time, in microseconds.

    Raises:
        WindowError: E_SYNTAX or E_VALUE.
    """
    parts = _of_mapping(source) if isinstance(source, Mapping) else _of_text(source)
    kind, policies, partition_by, evict, selection = parts
    try:
        read = [_policy(text, event_time) for text in policies]
        eviction = None if evict is None else _partition_eviction(evict, selection)
    except (PolicyError, ValueError) as error:
        raise WindowError("E_VALUE", str(error)) from None
    most = 1 if kind == "tumbling" else 2
    if not 1 <= len(read) <= most:
        rule = (
            "a tumbling window has one policy" if most == 1 else "a sliding window has one or two"
        )
        raise _syntax(f"{kind} with {len(read)} policies: {rule}")
    if kind == "tumbling":
        return WindowClause("tumbling", read[0], None, partition_by, eviction)
    trigger = read[1] if len(read) == 2 else count(1)
    return WindowClause("sliding", read[0], trigger, partition_by, eviction)


_Parts = tuple[str, list[str], tuple[str, ...], str | None, str | None]


def _of_text(source: object) -> _Parts:
    match = (
        _CLAUSE.fullmatch(source) if isinstance(source, str) and len(source) <= _TEXT_MAX else None
    )
    if match is None:
        raise _syntax(f"{shown(source)} is not the window of an operator")
    by = tuple(map(named, split_names(match["by"] or "")))
    policies = _CALLS.split(match["policies"])
    return match["kind"].lower(), policies, _named(by), match["evict"], match["selection"]


def _of_mapping(source: Mapping[object, object]) -> _Parts:
    if odd := [key for key in source if key not in _KEYS]:
        raise _syntax(f"{shown(odd[0])} is no part of an operator's window")
    kinds = [kind for kind in ("tumbling", "sliding") if kind in source]
    if len(kinds) != 1:
        raise _syntax("give one of tumbling and sliding")
    evict, selection = source.get("partition_eviction"), source.get("selection")
    for value in (evict, selection):
        if value is not None and not isinstance(value, str):
            raise _syntax(f"{shown(value)} is not text")
    if selection is not None and evict is None:
        raise _syntax("selection goes with partition_eviction")
    assert evict is None or isinstance(evict, str)  # noqa: S101 - refused above
    assert selection is None or isinstance(selection, str)  # noqa: S101 - refused above
    policies = [str(one) for one in _listed(source[kinds[0]])]
    by = tuple(str(name) for name in _listed(source.get("partition_by", ())))
    return kinds[0], policies, _named(by), evict, selection


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else [value]


def _named(by: tuple[str, ...]) -> tuple[str, ...]:
    if len({*by}) < len(by) or not all(by):
        raise _syntax(f"PARTITIONED BY {', '.join(by)}: name each field once")
    return by


def _policy(text: str, event_time: str) -> Policy:
    name, arguments = _call(text)
    match name, arguments:
        case "count", [size]:
            return Count(_natural(size, text))
        case "time", [length]:
            return Time(duration_us(length, minimum_us=1))
        case "delta", [written, threshold]:
            field = named(written)
            return Delta(field, _threshold(field, threshold, event_time))
        case "punct", []:
            return Punct()
    msg = f"{text.strip()}: a policy is count(n), time(LENGTH), delta(FIELD, THRESHOLD) or punct()"
    raise ValueError(msg)


def _partition_eviction(text: str, selection: str | None) -> PartitionEviction:
    name, arguments = _call(text)
    chosen = _selection(selection)
    match name, arguments:
        case "partition_count", [size]:
            return PartitionCount(_natural(size, text), chosen)
        case "tuple_count", [size]:
            return TupleCount(_natural(size, text), chosen)
        case "partition_age", [length]:
            if selection is not None:
                msg = f"{text.strip()} chooses the partitions itself: leave out BY {selection}"
                raise ValueError(msg)
            return PartitionAge(duration_us(length, minimum_us=1))
    msg = f"{text.strip()}: use partition_count(n), tuple_count(n) or partition_age(LENGTH)"
    raise ValueError(msg)


def _selection(name: str | None) -> Selection:
    known = [one.value for one in Selection if one is not Selection.user]
    if name is None:
        return Selection.lru
    if name.lower() not in known:
        msg = f"{name} selects no partitions: use {', '.join(known)}"
        raise ValueError(msg)
    return Selection(name.lower())


def _call(text: str) -> tuple[str, list[str]]:
    match = _CALL.fullmatch(text)
    if match is None:
        msg = f"{shown(text.strip())} is not a policy: write one as count(20)"
        raise ValueError(msg)
    return match["name"].lower(), split_names(match["arguments"])


def _natural(text: str, whole: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= _COUNT_MAX):
        msg = f"{whole.strip()}: give a whole number from 0 to {_COUNT_MAX} (2^53)"
        raise ValueError(msg)
    return int(text)


def _threshold(field: str, text: str, event_time: str) -> int | float:
    if field == event_time:
        return duration_us(text)
    if not _NUMBER.fullmatch(text) or float(text) > LENGTH_MAX:
        msg = f"delta({field}, {text}): the threshold is a number from 0 to {LENGTH_MAX} (2^59)"
        raise ValueError(msg)
    return float(text) if "." in text else int(text)


def _syntax(what: str) -> WindowError:
    return WindowError("E_SYNTAX", f"{what}; an example: {EXAMPLE}")


def spelled(clause: WindowClause, event_time: str) -> str:
    """Return a window as text that `parse_clause` reads, with times in microseconds."""
    policies = [clause.eviction, *([] if clause.trigger is None else [clause.trigger])]
    text = f"{clause.kind.upper()} {', '.join(_spelled(policy, event_time) for policy in policies)}"
    if clause.partition_by:
        text += f" PARTITIONED BY {', '.join(map(in_text, clause.partition_by))}"
    match clause.partition_eviction:
        case PartitionCount(size, selection):
            text += f" EVICT partition_count({size}) BY {selection}"
        case TupleCount(size, selection):
            text += f" EVICT tuple_count({size}) BY {selection}"
        case PartitionAge(age_us):
            text += f" EVICT partition_age({age_us} us)"
    return text


def _spelled(policy: Policy, event_time: str) -> str:
    match policy:
        case Count(size):
            return f"count({size})"
        case Time(period_us):
            return f"time({period_us} us)"
        case Delta(field, threshold):
            return f"delta({in_text(field)}, {threshold}{' us' * (field == event_time)})"
    return "punct()"


def known(field: str, source: Source) -> FieldType:
    """Return the type of a field.

    Raises:
        WindowError: E_ATTR_UNKNOWN.
    """
    if field not in source.fields:
        close = meant(field, source.fields)
        msg = f"{shown(field)} is not under source.fields ({known_fields(source)}){close}"
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
    if type_.kind not in ("int", "float") or type_.nullable:
        msg = f"delta({name}, {threshold}): {name} is {type_}, not a number that is never null"
        raise WindowError("E_ATTR_TYPE", msg)
    return Delta(name, float(threshold)) if type_.kind == "float" else policy


_IS_CLAUSE: Final = re.compile(r"\s*(sliding|tumbling)\b.*", re.IGNORECASE | re.DOTALL)


def is_clause(window: object) -> bool:
    """Return whether a side's window is written as a policy window, not as a length of time."""
    return isinstance(window, Mapping) or (
        isinstance(window, str) and _IS_CLAUSE.fullmatch(window) is not None
    )


def parse_side(window: object, source: Source) -> WindowClause:
    """Parse and check the window of a side, written as text or as a mapping.

    Raises:
        WindowError: E_SYNTAX, E_VALUE, E_ATTR_UNKNOWN or E_ATTR_TYPE.
        OperatorError: not a window of a join.
    """
    clause = parse_clause(window, source.event_time.field)
    check_join_window(clause, spelled(clause, source.event_time.field))
    return typed(clause, source)
