"""Times as they are spelled in values: one at a time, exactly."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import MAX_EMAX, MIN_EMIN, ROUND_FLOOR, Context, Decimal
from functools import lru_cache
from typing import Any, Final

from windowing.model.times import POWERS, Spelling, TextTimes, odd_characters
from windowing.model.zones import Zone

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d(?::\d\d)?)(?:(?<=:\d\d:\d\d)\.(\d{1,12}))?"
    r"(?:[Zz]|([+-]\d\d)(?::?(\d\d))?)?",
    re.ASCII,
)
# More digits than any legal time has; what is larger is as illegal with one more.
_DIGITS: Final = 60
_FAR: Final[int] = 10**_DIGITS
_FLOOR: Final = Context(prec=_DIGITS, rounding=ROUND_FLOOR, Emax=MAX_EMAX, Emin=MIN_EMIN)

_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_PIECES: Final = {
    "Y": r"\d\d\d\d",
    "y": r"\d\d",
    "m": r"1[0-2]|0[1-9]|[1-9]",
    "b": "|".join(month[:3] for month in _MONTHS),
    "B": "|".join(_MONTHS),
    "d": r"3[01]|[12]\d|0[1-9]|[1-9]| [1-9]",
    "a": "|".join(day[:3] for day in _DAYS),
    "A": "|".join(_DAYS),
    "H": r"2[0-3]|[01]\d|\d",
    "I": r"1[0-2]|0[1-9]|[1-9]",
    "p": r"am|pm",
    "M": r"[0-5]\d|\d",
    "S": r"6[01]|[0-5]\d|\d",
    "f": r"\d{1,6}",
    "z": r"[+-]\d\d:?[0-5]\d(?::?[0-5]\d(?:\.\d{1,6})?)?|(?-i:Z)",
}
_OFFSET = re.compile(r"([+-])(\d\d)(:?)(\d\d)(?:(:?)(\d\d)(?:\.(\d{1,6}))?)?", re.ASCII)


def time_us(value: Any, spelling: Spelling) -> int | None:
    """Return a time in microseconds, rounded towards the past; None: it is not spelled so.

    It may be beyond 64 bits.
    """
    unit = spelling.unit
    if isinstance(unit, TextTimes):
        return _text_us(value, unit) if isinstance(value, str) else None
    if unit == "iso":
        return iso_us(value) if isinstance(value, str) else None
    if type(value) is int:
        number: int = value
        power = POWERS[unit]
        return int(number * 10**power) if power >= 0 else int(number // 10**-power)
    if not spelling.fraction or not isinstance(value, float | Decimal):
        return None
    written = Decimal(value)
    return _floor(written, POWERS[unit]) if written.is_finite() else None


def _floor(number: Decimal, power: int) -> int:
    """Return a number times a power of ten, rounded down; of one far out, another as far out."""
    if number and number.adjusted() > _DIGITS:
        return -_FAR if number < 0 else _FAR
    return int(_FLOOR.scaleb(number, power).to_integral_value(ROUND_FLOOR))


def iso_us(text: str) -> int | None:
    """Return an ISO time in microseconds, without those parts that are smaller; None: it is none.

    A time without an offset is in UTC.
    """
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    day, time, fraction, hours, minutes = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{time}+00:00")
    except ValueError:
        return None
    local_us = (moment - _EPOCH) // _US + int((fraction or "0").ljust(6, "0")[:6])
    if hours is None:
        return local_us
    ahead = int(hours[1:]) * 60 + int(minutes or 0)
    if ahead >= 24 * 60 or int(minutes or 0) > 59:
        return None
    return local_us + ahead * 60_000_000 * (1 if hours[0] == "-" else -1)


def _text_us(text: str, times: TextTimes) -> int | None:
    match = _pattern(times).match(text)
    if match is None or match.end() < len(text) or odd_characters(text) != times.odd:
        return None
    found = {name: piece.lower() for name, piece in match.groupdict().items()}
    try:
        local = datetime(*_calendar(found), tzinfo=UTC)
    except ValueError:
        return None  # no such day, or second 60
    local_us = (local - _EPOCH) // _US + int(found.get("f", "0").ljust(6, "0"))
    if "z" in found:
        ahead = _offset_us(match["z"])
        return None if ahead is None else local_us - ahead
    return zoned_us(local_us, times.zone)


def is_skipped(text: str, times: TextTimes) -> bool:
    """Whether a text is a time as the format has it, which the clocks of the zone skip."""
    if _text_us(text, times) is not None:
        return False
    return _text_us(text, TextTimes(times.format)) is not None


def zoned_us(local_us: int, zone: Zone) -> int | None:
    """Return the instant of a zone's local time, the first of two; None: it is skipped."""
    before, after = ahead_us(local_us, zone)
    # Clocks that are put forward are ahead of UTC by more afterwards.
    return None if before < after else local_us - before


def ahead_us(local_us: int, zone: Zone) -> tuple[int, int]:
    """Return by how much a zone is ahead of UTC at a local time: the first time it comes, the last.

    Raises:
        OverflowError: it is outside of the calendar.
    """
    wall = (_EPOCH + local_us * _US).replace(tzinfo=zone.info)
    before, after = wall.utcoffset(), wall.replace(fold=1).utcoffset()
    assert before is not None and after is not None  # noqa: S101, PT018 - zones have them
    return before // _US, after // _US


@lru_cache(maxsize=64)
def _pattern(times: TextTimes) -> re.Pattern[str]:
    """Return what a text has to match at its start, all of it."""
    pieces, blank = list[str](), False
    for is_directive, part in times.parts:
        if not is_directive and part.isspace():
            pieces += [] if blank else [r"\s+"]
            blank = True
            continue
        blank = False
        named = is_directive and part != "%"
        pieces.append(f"(?P<{part}>{_PIECES[part]})" if named else re.escape(part))
    return re.compile("".join(pieces), re.IGNORECASE)


def _calendar(found: dict[str, str]) -> tuple[int, int, int, int, int, int]:
    if "y" in found:
        year = int(found["y"])
        year += 1900 if year > 68 else 2000
    else:
        year = int(found["Y"])
    if "m" in found:
        month = int(found["m"])
    else:
        name = found.get("b") or found["B"]
        month = next(number for number, one in enumerate(_MONTHS, 1) if one.startswith(name))
    hour = int(found.get("H", "0"))
    if "I" in found:
        hour = int(found["I"]) % 12 + 12 * (found["p"] == "pm")
    day, minute, second = (int(found.get(name, "0")) for name in "dMS")
    return year, month, day, hour, minute, second


def _offset_us(text: str) -> int | None:
    """Return an offset from UTC; None: it is a day or more, or its colons are not all there."""
    if text == "Z":
        return 0
    match = _OFFSET.fullmatch(text)
    if match is None:
        return None
    sign, hours, colon, minutes, other, seconds, fraction = match.groups()
    if int(hours) > 23 or (seconds is not None and colon != other):
        return None
    us = ((int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)) * 1_000_000
    us += int((fraction or "0").ljust(6, "0"))
    return -us if sign == "-" else us
