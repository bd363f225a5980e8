"""What a time in a value means: the definition's own reading of each spelling."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

from windowing.model.times import Spelling, TextTimes, odd_characters

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_ISO = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2})"
    r"(?::([0-9]{2})(?:\.([0-9]{1,12}))?)?"
    r"(?:[Zz]|([+-])([0-9]{2})(?::?([0-9]{2}))?)?"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)
# No time has so many digits before the point.
_BEYOND = 60


def read_time(spelling: Spelling, raw: object) -> int | None:
    """Return a JSON value as an instant in microseconds, which may be beyond 64 bits.

    None: it is not spelled so.
    """
    unit = spelling.unit
    if isinstance(unit, TextTimes):
        return _read_text(raw, unit) if isinstance(raw, str) else None
    if unit == "iso":
        return read_iso(raw) if isinstance(raw, str) else None
    # `type() is`, because Python's booleans are ints.
    if type(raw) is int:
        return raw * 1_000_000 // _PER_SECOND[unit]
    if not spelling.fraction or not isinstance(raw, float | Decimal):
        return None
    number = Decimal(raw)
    if not number.is_finite():
        return None
    size = number.adjusted() if number else 0
    if abs(size) > _BEYOND:
        far = 10**_BEYOND if size > 0 else 0
        return -max(far, 1) if number < 0 else far
    return int(Fraction(number) * 1_000_000 / _PER_SECOND[unit] // 1)


def read_iso(text: str) -> int | None:
    """Return an ISO time in microseconds, or None; without an offset it is UTC."""
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    *calendar, seconds, fraction, sign, hours, minutes = match.groups()
    try:
        moment = datetime(*map(int, calendar), int(seconds or 0), tzinfo=UTC)  # type: ignore[arg-type,misc]
    except ValueError:
        return None  # no such day, or hour 24, or second 60
    local_us = (moment - _EPOCH) // _US
    local_us += int((fraction or "0").ljust(6, "0")[:6])
    if sign is None:
        return local_us
    if int(hours) > 23 or int(minutes or 0) > 59:
        return None
    offset_us: int = (int(hours) * 60 + int(minutes or 0)) * 60_000_000
    return local_us - offset_us if sign == "+" else local_us + offset_us


def _read_text(text: str, times: TextTimes) -> int | None:
    if odd_characters(text) != odd_characters(times.format):
        return None
    try:
        found = datetime.strptime(text, times.format)  # noqa: DTZ007 - its zone comes below
    except ValueError:
        return None
    if found.tzinfo is not None:
        return (found - _EPOCH) // _US
    local, zone = found.replace(tzinfo=UTC), times.zone.info
    instants = []
    for fold in (0, 1):
        offset = found.replace(tzinfo=zone, fold=fold).utcoffset()
        assert offset is not None  # noqa: S101 - a zone has one at every time
        instant_us = (local - _EPOCH - offset) // _US
        if _local_time(instant_us, zone) in (found, None):
            instants.append(instant_us)
    return min(instants, default=None)


def _local_time(instant_us: int, zone: ZoneInfo) -> datetime | None:
    """Return a zone's time at an instant, without its fold; None: it is outside the calendar."""
    try:
        local = (_EPOCH + timedelta(microseconds=instant_us)).astimezone(zone)
    except OverflowError:
        return None
    return local.replace(tzinfo=None, fold=0)
