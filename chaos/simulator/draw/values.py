"""Draw values of records: ordinary ones, those that machinery mistakes, and corrupted ones.

Machinery takes two values for one, or one for two: texts that differ behind some bytes, numbers at
powers of two, zeros with a sign, columns that are alike for their first rows. The simulator's logs,
property tests and benchmarks' checks all draw from here.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from chaos.simulator.draw.types import draw_typed
from windowing.model.source import Source
from windowing.model.types import FieldType

HARD_FLOATS: Final = (
    *(0.0, -0.0, 0.1, 0.2, 0.3, -0.1, 1.0, -1.0, 3.0, 1e16, -1e16, 2.0**53, 2.0**53 + 2),
    *(1.1102230246251565e-16, 2.220446049250313e-16, 5e-324, -5e-324, 2.2250738585072014e-308),
    *(1e308, -1e308, 1.7976931348623157e308, -1.7976931348623157e308, 1e-308, 1e22, 123456789.125),
)
_ZEROS: Final = (0.0, -0.0, 0.0, -0.0, 5e-324, -5e-324, 1.0)
_STRINGS = ("a", "a", "a", "b", "b", "", "Z", "é", "😀", "\ufffd", "line\nbreak", '"', "\u0000")
_FEW_STRINGS = ("a", "a", "b", "b", "")
# Texts of one stem differ only behind so many bytes of it, by tails or by their lengths.
_STEM_BYTES: Final = (4, 8, 12, 16)
_STEM_LETTERS: Final = ("k", "k", "é", "😀")
_TAILS: Final = ("", "a", "b", "\u0000", "aaa", "aab", "é", "aaaaaaaa", "aaaaaaab", "b" * 24)
_FEW_INTS = (0, 0, 1, -3, 2, 10)
_SUMMABLE = (0, 1, -1, 2**53, 2**53 + 1, -(2**53) - 1)
_WIDE = (*_SUMMABLE, 2**63 - 1, -(2**63), 2**62, -(2**62))
# Widths of words, halves, mantissas and of what is packed into fewer bytes.
_BITS: Final = (7, 8, 15, 16, 30, 31, 32, 33, 53, 62, 63)
_HALF: Final = 1 << 32
_LOW_HALVES: Final = (-(1 << 31), (1 << 31) - 1, 1 << 31, -(1 << 31) - 1, _HALF - 1, 0)
_TURNS: Final = (1, 2, 3, 5, 8)
# Where a column may be looked at in part: the first rows of a sample, and around them.
_LONG_TURNS: Final = (63, 64, 65, 255, 256, 257)
_INT64_MAX: Final = 2**63 - 1


@dataclass(frozen=True)
class Values:
    """The values that occur in one log: the same in all of its lanes, so that keys meet.

    Attributes:
        texts, ints, floats: most values are among these.
    """

    texts: Sequence[str]
    ints: Sequence[int]
    floats: Sequence[float]

    @classmethod
    def drawn(cls, rng: random.Random, distinct: int = 0) -> Self:
        """Draw which values occur.

        There are `distinct` texts and ints, each as likely; 0: a few.
        """
        if distinct:
            return cls(_many_texts(rng, distinct), _many_ints(rng, distinct), HARD_FLOATS)
        texts = rng.choice([_FEW_STRINGS, _FEW_STRINGS, _STRINGS, *[_of_a_stem(rng)] * 4])
        ints = rng.choice([_WIDE, _WIDE, _near_powers(rng), _carrying(rng)])
        floats = rng.choice([HARD_FLOATS, HARD_FLOATS, _ZEROS, _in_bins(rng)])
        return cls(texts, ints, floats)

    def value(self, rng: random.Random, kind: str | FieldType, largest: int | None = None) -> Any:
        """Draw one value that is not null.

        Ints are at most `largest` in absolute value; None: any of 64 bits.
        """
        if isinstance(kind, FieldType):
            if kind.kind not in ("int", "float", "string"):
                return draw_typed(rng, kind)
            kind = kind.kind
        choice = rng.random()
        if kind == "string":
            return rng.choice(self.texts)
        if kind == "int":
            return self._int(rng, choice, largest)
        if choice < 0.5:
            return rng.choice(self.floats)
        return rng.randint(-5, 5) if choice < 0.6 else rng.uniform(-1e3, 1e3)

    def _int(self, rng: random.Random, choice: float, largest: int | None) -> int:
        if largest is not None and largest > _INT64_MAX // 8 and rng.random() < 0.8:
            # Of two such values a sum leaves int64, and by a third it comes back.
            return rng.choice((largest, largest, -largest))
        few = len(self.ints) <= len(_WIDE)
        if few and choice < 0.4:
            return rng.choice(_FEW_INTS)
        if few and choice < 0.6:
            return rng.randint(-9, 9)
        if largest is None:
            return rng.choice(self.ints)
        return max(-largest, min(largest, rng.choice((*self.ints, largest, -largest))))

    def table(
        self,
        rng: random.Random,
        types: Mapping[str, FieldType],
        rows: int,
        largest: Mapping[str, int] | None = None,
    ) -> dict[str, list[Any]]:
        """Draw columns of values, some of which are like those before them for some rows.

        `types` and `largest` are by column; see `column`.
        """
        table: dict[str, list[Any]] = {}
        for name, type_ in types.items():
            limit = (largest or {}).get(name)
            like = [
                table[other]
                for other in table
                if replace(types[other], nullable=type_.nullable) == type_
            ]
            # What is too large for this one would not be a copy.
            like = [] if limit is not None else like
            column = self.column(rng, type_, rows, limit, like)
            table[name] = _with_nulls(rng, column) if type_.nullable else column
        return table

    def column(
        self,
        rng: random.Random,
        kind: str | FieldType,
        rows: int,
        largest: int | None = None,
        like: Sequence[Sequence[Any]] = (),
    ) -> list[Any]:
        """Draw a column without nulls; in a third of them, few rows differ from others.

        It has `rows` values; see `value` for `largest`. It may be like one of the columns `like` at
        first, or almost everywhere.
        """
        drawn = [self.value(rng, kind, largest) for _ in range(rows)]
        if rows < 2 or rng.random() < 0.65:
            return drawn
        alike = [drawn[0]] * rows
        if like and rng.random() < 0.5:
            known = rng.choice(like)
            alike = [drawn[0] if value is None else value for value in known]
        turn = _turn(rng, rows)
        if rng.random() < 0.5:
            return alike[:turn] + drawn[turn:]
        return [drawn[at] if at % (turn + 1) == turn else alike[at] for at in range(rows)]


def _turn(rng: random.Random, rows: int) -> int:
    """Draw the row at which a column first differs, up to its length: then it never does."""
    turns = [turn for turn in _LONG_TURNS if turn < rows] * 2 + [*_TURNS, rows // 2, rows]
    return min(rows, rng.choice(turns))


def _with_nulls(rng: random.Random, column: list[Any]) -> list[Any]:
    """Put nulls into a column: here and there, before a row, from it on, or everywhere."""
    rows = len(column)
    how = rng.choice([*["some"] * 6, "none", "half", "before", "after", "after", "all"])
    turn = _turn(rng, rows) if how in ("before", "after") and rows else 0
    share = {"some": 0.15, "none": 0.0, "half": 0.5, "all": 1.0}.get(how, 0.0)
    if how == "before":
        return [None] * turn + column[turn:]
    if how == "after":
        return [
            None if at == turn or (at > turn and rng.random() < 0.3) else value
            for at, value in enumerate(column)
        ]
    return [None if share and rng.random() < share else value for value in column]


def _of_a_stem(rng: random.Random) -> tuple[str, ...]:
    """Draw texts that begin alike, beside those that conditions and gaps name."""
    stem = _stem(rng)
    return ("a", "b", "", *(stem + tail for tail in rng.sample(_TAILS, 4)))


def _stem(rng: random.Random) -> str:
    letter, size = rng.choice(_STEM_LETTERS), rng.choice(_STEM_BYTES)
    return letter * (size // len(letter.encode()))


def _many_texts(rng: random.Random, distinct: int) -> tuple[str, ...]:
    stem, digits = _stem(rng), rng.choice([0, 5])
    return tuple(f"{stem}{number:0{digits}d}" for number in range(distinct))


def _many_ints(rng: random.Random, distinct: int) -> tuple[int, ...]:
    """Draw integers around a power of two, or multiples of one."""
    power = 1 << rng.choice(_BITS[:-2])
    if rng.random() < 0.3:
        return tuple(number * power for number in range(min(distinct, _INT64_MAX // power)))
    return tuple(power + number for number in range(-distinct // 2, distinct // 2))


def _near_powers(rng: random.Random) -> tuple[int, ...]:
    powers = [1 << rng.choice(_BITS), 1 << rng.randint(1, 63)]
    found = [sign * (power + by) for power in powers for sign in (1, -1) for by in (-1, 0, 1)]
    return tuple(number for number in found if -_INT64_MAX - 1 <= number <= _INT64_MAX)


def _carrying(rng: random.Random) -> tuple[int, ...]:
    """Draw integers whose low halves add up to more than they hold, with and without high ones."""
    highs = rng.choice([(0, 0, 0), (0, 1, -1), (0, (1 << 30) - 1, -(1 << 30))])
    return tuple(high * _HALF + low for high, low in zip(highs * 2, _LOW_HALVES, strict=True))


def _in_bins(rng: random.Random) -> tuple[float, ...]:
    """Draw floats whose mantissas span the same bins of 32 bits, or bins far apart."""
    exponent = rng.choice([-1074, -1022, -32, 0, 31, 32, 900])
    mantissas = [1, (1 << 53) - 1, (1 << 32) - 1, 1 << 32, (1 << 52) + 1]
    signed = [sign * mantissa for mantissa in mantissas for sign in (1, -1)]
    return tuple(math.ldexp(one, exponent + rng.choice([0, 0, 1, 31])) for one in signed)


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


def draw_poison(rng: random.Random, source: Source, spared: frozenset[str]) -> dict[str, object]:
    """Draw a corruption of a value; sometimes the result is still valid, which is fine.

    The fields `spared` keep their values.
    """
    time = source.event_time.field
    names = [name for name in source.declared if name not in {time, *spared}]
    what = rng.choice(["time", "time", "unknown", "field", "field", "field", "several"])
    if what == "time":
        return {time: rng.choice((None, "x", 1.5, True, [1], 10**17, 2**63, -(10**30)))}
    if what == "unknown" or not names:
        return {rng.choice(["note", "slackwater_does_not_know"]): rng.choice([None, 1, "?"])}
    spoilt = {name: _spoilt(rng, source.declared[name]) for name in rng.sample(names, 1)}
    return {**spoilt, "note": None} if what == "several" else spoilt


def _spoilt(rng: random.Random, type_: FieldType) -> object:
    odd: tuple[object, ...] = {
        "string": (None, None, 7, True, {}, []),
        "int": (None, "1", 1.0, True, 2**63, -(2**63) - 1, []),
        "float": (None, "1", False, {}, 10**400),
        "bool": (None, 1, 0, "true", []),
        "date": (None, "2023-02-29", "2024-1-01", "0000-01-01", 20240101, ""),
        "timestamp": (None, True, "x", 2**63, [], {}),
        "decimal": (None, "x", True, "1e-39", "1e38", "1,5", " 1", "1_0", 1e-39, 10**38, []),
    }[type_.kind]
    return rng.choice(odd)
