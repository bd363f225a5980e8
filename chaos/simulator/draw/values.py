"""Draw values of records: ordinary ones, edge cases, and corrupted ones of all kinds."""

from __future__ import annotations

import random
from typing import Any, Final

from windowing.model.fields import FieldType
from windowing.model.source import Source

HARD_FLOATS: Final = (
    *(0.0, -0.0, 0.1, 0.2, 0.3, -0.1, 1.0, -1.0, 3.0, 1e16, -1e16, 2.0**53, 2.0**53 + 2),
    *(1.1102230246251565e-16, 2.220446049250313e-16, 5e-324, -5e-324, 2.2250738585072014e-308),
    *(1e308, -1e308, 1.7976931348623157e308, -1.7976931348623157e308, 1e-308, 1e22, 123456789.125),
)
_STRINGS = ("a", "a", "a", "b", "b", "", "Z", "é", "😀", "\ufffd", "line\nbreak", '"', "\u0000")
_FEW_STRINGS = ("a", "a", "b", "b", "")
_FEW_INTS = (0, 0, 1, -3, 2, 10)
_SUMMABLE = (0, 1, -1, 2**53, 2**53 + 1, -(2**53) - 1)
_WIDE = (*_SUMMABLE, 2**63 - 1, -(2**63), 2**62, -(2**62))
_RAW = (
    *("", "{", "nonsense", "[1]", "null", "\ufeff{}", "\ud800", '{"ts":NaN}', '{"ts":1}x'),
    *('{"ts":1,"g":"\\ud800"}', '{"ts":1,"g":"a","v":1e400}', '{"ts":1,"ts":2,"g":"a"}'),
    *('{"ts":1,"g":"a","x":1e400}', '{"ts":1,"g":"a","v":1,"v":"x"}', '{"g":"\\udc00","g":"a"}'),
    '{"ts":' + "[" * 2000 + "]" * 2000 + "}",
    '{"ts":' + "9" * 5000 + "}",
    '{"ts":1,"g":"a","x":' + "9" * 5000 + "}",
)


_NO_CONTROLS: tuple[Any, ...] = (
    *(None, [], "end", 7, {}, {"bund": 7}, {"end": False}, {"end": 1}, {"end": True, "bound": 1}),
    *({"bound": bound} for bound in ("5", True, 1.0, None, 2**63, -(2**63) - 1, 10**400)),
    *({"bound": 1, "on": []}, {"bound": 1, "on": "g"}, {"bound": 1, "on": None}),
    *({"now": 1, "seen": []}, {"now": 1, "seen": {"s/0": "1"}}, {"seen": {"s/0": None}}),
    *({"now": "1"}, {"now": 2**63}, {"seen": 3}, {"now": 1, "then": 2}),
    {"bound": 1, "on": {"g": "\ud800"}},
)


def draw_no_control(rng: random.Random) -> Any:
    """Draw an invalid control record."""
    return rng.choice(_NO_CONTROLS)


def draw_raw(rng: random.Random) -> str:
    """Draw text that is rarely a valid value."""
    return rng.choice(_RAW)


def draw_field(rng: random.Random, type_: FieldType, largest: int | None) -> Any:
    """Draw a field's value.

    Args:
        rng: the source of every choice.
        type_: the field's type.
        largest: largest absolute value of ints; None: any of 64 bits.
    """
    if type_.nullable and rng.random() < 0.15:
        return None
    choice = rng.random()
    if type_.kind == "string":
        return rng.choice(_FEW_STRINGS if choice < 0.8 else _STRINGS)
    if type_.kind == "int":
        return _int(rng, choice, largest)
    if choice < 0.5:
        return rng.choice(HARD_FLOATS)
    return rng.randint(-5, 5) if choice < 0.6 else rng.uniform(-1e3, 1e3)


def _int(rng: random.Random, choice: float, largest: int | None) -> int:
    if choice < 0.5:
        return rng.choice(_FEW_INTS)
    if choice < 0.75:
        return rng.randint(-9, 9)
    if largest is None:
        return rng.choice(_WIDE)
    return max(-largest, min(largest, rng.choice((*_SUMMABLE, largest, -largest))))


def draw_poison(rng: random.Random, source: Source, spared: frozenset[str]) -> dict[str, object]:
    """Draw a corruption of a value; sometimes the result is still valid, which is fine.

    Args:
        rng: the source of every choice.
        source: the source of the record.
        spared: fields that keep their values.
    """
    time = source.event_time.field
    names = [name for name in source.fields if name not in {time, *spared}]
    what = rng.choice(["time", "time", "unknown", "field", "field", "field", "several"])
    if what == "time":
        return {time: rng.choice((None, "x", 1.5, True, [1], 10**17, 2**63, -(10**30)))}
    if what == "unknown" or not names:
        return {rng.choice(["note", "slackwater_does_not_know"]): rng.choice([None, 1, "?"])}
    spoilt = {name: _spoilt(rng, source.fields[name]) for name in rng.sample(names, 1)}
    return {**spoilt, "note": None} if what == "several" else spoilt


def _spoilt(rng: random.Random, type_: FieldType) -> object:
    odd: tuple[object, ...] = {
        "string": (None, None, 7, True, {}, []),
        "int": (None, "1", 1.0, True, 2**63, -(2**63) - 1, []),
        "float": (None, "1", False, {}, 10**400),
    }[type_.kind]
    return rng.choice(odd)
