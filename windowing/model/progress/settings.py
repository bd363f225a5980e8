"""Parsers of generators' settings in a pipeline file; errors state the rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from windowing.model.lengths import parse_length

RULE: Final = (
    "use ordered, punctuation, {slack: 30 seconds}, {slack: 500 rows}, {punctuation: {attr: f}}, "
    "{ordered_per: {attr: f, members: {topic/0: [a, b]}}}, {heartbeat: {topic/0: {max_delay: 5 s, "
    "min_delay: 0 s, skew: 1 s}}} or {adaptive: {late: 0.1%, over: 1000 rows}}"
)
"""An example of each built-in generator."""


def read_rows(value: object, *, least: int) -> int:
    """Parse a number of rows: `1000 rows`.

    Raises:
        ValueError: with the rule.
    """
    length = parse_length(value) if isinstance(value, str) else None
    if length is None or length.unit != "rows":
        msg = f"{value!r} is not a number of rows, as 1000 rows"
        raise ValueError(msg)
    if length.number.denominator != 1 or not least <= length.number < 2**31:
        msg = f"{value!r}: must be a whole number of rows, at least {least}"
        raise ValueError(msg)
    return int(length.number)


def read_attr(settings: Mapping[str, object]) -> str:
    """Parse the name of a field.

    Raises:
        ValueError: with the rule.
    """
    attr = settings["attr"]
    if not isinstance(attr, str):
        msg = f"attr: {attr!r} is not the name of a field"
        raise ValueError(msg)
    return attr


def read_mapping(
    value: object,
    what: str,
    *,
    required: tuple[str, ...] = (),
    known: tuple[str, ...] | None = None,
) -> Mapping[str, object]:
    """Check that a value is a mapping with the right keys.

    Args:
        value: as in the file.
        what: the keys in words, for the message.
        required: keys that must be present.
        known: keys that may be present; None: any.

    Raises:
        ValueError: with the rule.
    """
    if not isinstance(value, Mapping):
        msg = f"{value!r} does not give {what}; {RULE}"
        raise ValueError(msg)
    unknown = [name for name in value if known is not None and name not in known]
    missing = [name for name in required if name not in value]
    if unknown or missing:
        wrong = f"unknown key {unknown[0]!r}" if unknown else f"{missing[0]} is missing"
        msg = f"{wrong}; {RULE}"
        raise ValueError(msg)
    return value
