"""Lengths as people write them (`30 seconds`, `1.5 h`, `500 rows`), parsed exactly.

A length of time becomes an integer number of microseconds; nothing is rounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from windowing.model.errors import shown

INT64_MIN = -(2**63)
INT64_MAX = 2**63 - 1
LENGTH_MAX = 2**59
"""The longest length; see `windowing.model.limits`."""

_US_PER_UNIT = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
_WORDS = {
    "microsecond": "us",
    "millisecond": "ms",
    "second": "s",
    "minute": "min",
    "hour": "h",
    "day": "d",
    "row": "rows",
}
# Only the language's own words, case-insensitive.
_UNITS = {
    **{unit: unit for unit in _US_PER_UNIT},
    "sec": "s",
    **_WORDS,
    **{f"{word}s": unit for word, unit in _WORDS.items()},
}
_UNITS_KNOWN = "use us, ms, s, min, h, d or rows"
_LENGTH = re.compile(r"([+-]?[0-9]+(?:\.[0-9]+)?)(?:\s*([A-Za-z]+))?")
_TEXT_MAX = 100
"""The pattern of a length: a number and an optional word."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Length:
    """A number with an optional unit, exactly as written.

    Attributes:
        number: the exact value, before the unit is applied.
        unit: canonical unit (`us ms s min h d rows`) or None; of lengths of local time also `week
            month quarter year`.
        text: as written, for messages.
    """

    number: Fraction
    unit: str | None
    text: str

    @property
    def is_time(self) -> bool:
        """Whether the unit is a unit of time."""
        return self.unit in _US_PER_UNIT

    def scaled(self) -> Fraction:
        """The value in microseconds if the unit is a unit of time, else the bare number."""
        return self.number * _US_PER_UNIT.get(self.unit or "", 1)


_WEEKS = "write 7 days; windows can have weeks of local time, RANGE 1 week … ZONE Europe/Berlin"
_MONTHS = "its lengths differ: windows can have them, of local time: RANGE 1 {} … ZONE Asia/Tokyo"
_CALENDAR = {
    **dict.fromkeys(("w", "week"), ("week", _WEEKS)),
    **{word: (word, _MONTHS.format(word)) for word in ("month", "quarter", "year")},
}
"""Units of the calendar, and what to write where a length of time is meant."""


def parse_length(text: str, *, calendar: bool = False) -> Length:
    """Parse `number [unit]`.

    Args:
        calendar: whether it may be of local time, in weeks, months, quarters or years.

    Raises:
        ValueError: not of that form, or an unknown unit.
    """
    match = _LENGTH.fullmatch(text.strip()) if len(text) <= _TEXT_MAX else None
    if match is None:
        msg = f"{shown(text)} is not a length: write a number and a unit, such as 30 seconds"
        raise ValueError(msg)
    number, word = match.groups()
    unit = _UNITS.get(word.lower()) if word else None
    if word and unit is None:
        local, advice = _CALENDAR.get(word.lower().removesuffix("s"), ("", _UNITS_KNOWN))
        if calendar and local:
            return Length(Fraction(number), local, text.strip())
        msg = f"{text!r} has the unknown unit {word!r}: {advice}"
        raise ValueError(msg)
    return Length(Fraction(number), unit, text.strip())


@dataclass(frozen=True)
class AttributeStep:
    """A length along a windowing attribute.

    Attributes:
        amount: microseconds, or steps of a plain number.
        timed: whether it is a duration.
    """

    amount: int
    timed: bool

    def __str__(self) -> str:
        """Return it as in a pipeline file."""
        return spell_us(self.amount) if self.timed else str(self.amount)


def parse_step(value: object, *, minimum: int = 0, maximum: int = LENGTH_MAX) -> AttributeStep:
    """Parse a duration (`1 hour`), or a plain integer (`100`).

    Raises:
        ValueError: neither, or out of range.
    """
    if isinstance(value, str) and parse_length(value).unit is not None:
        return AttributeStep(duration_us(value, minimum_us=minimum, maximum_us=maximum), timed=True)
    exact = parse_length(str(value)).number if type(value) in (int, str) else None
    if exact is None or exact.denominator != 1 or not minimum <= exact <= maximum:
        msg = f"{value!r}: write a length of time such as '1 hour', or, for windows over a plain "
        msg += f"number, a whole number from {minimum} to {maximum}"
        raise ValueError(msg)
    return AttributeStep(int(exact), timed=False)


def duration_us(value: object, *, minimum_us: int = 0, maximum_us: int = LENGTH_MAX) -> int:
    """Parse a duration as integer microseconds.

    Args:
        value: text such as `3 hours`.
        minimum_us: the smallest legal value, inclusive.
        maximum_us: the largest one, inclusive.

    Raises:
        ValueError: no unit of time, a fraction of a microsecond, or out of range.
    """
    if not isinstance(value, str):
        msg = f"{value!r} is not a length of time: it needs a unit, such as '30 seconds'"
        raise ValueError(msg)
    length = parse_length(value)
    if not length.is_time:
        msg = f"{value!r} is not a length of time: it needs a unit of time, as '30 seconds'"
        raise ValueError(msg)
    exact = length.scaled()
    if exact.denominator != 1:
        msg = f"{value!r} is not a whole number of microseconds"
        raise ValueError(msg)
    if not minimum_us <= exact <= maximum_us:
        bound = "positive" if minimum_us == 1 else f"at least {minimum_us} us"
        msg = f"{value!r} is out of range: it must be {bound} and at most {maximum_us} us"
        raise ValueError(msg)
    return int(exact)


def instant_us(value: object) -> int:
    """Parse an ISO time or date as microseconds since 1970 in UTC.

    Raises:
        ValueError: not an ISO time or date.
    """
    text = value.isoformat() if hasattr(value, "isoformat") else value
    if not isinstance(text, str):
        msg = f"{value!r} is not an instant: write an ISO date or time, such as '2024-03-01'"
        raise ValueError(msg)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        msg = (
            f"{text!r} is not an instant: write an ISO date or time, such as '2024-03-01' ({error})"
        )
        raise ValueError(msg) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def spell_instant(us: int) -> str:
    """Return an instant as `instant_us` takes it; as microseconds if no calendar has it."""
    try:
        moment = _EPOCH + timedelta(microseconds=us)
    except OverflowError:
        return f"{us} us"
    return moment.isoformat().replace("+00:00", "Z")


def spell_us(us: int) -> str:
    """Return a duration in its largest whole unit: `3_600_000_000` is `1 h`."""
    for unit in ("d", "h", "min", "s", "ms"):
        size = _US_PER_UNIT[unit]
        if us and us % size == 0:
            return f"{us // size} {unit}"
    return f"{us} us"
