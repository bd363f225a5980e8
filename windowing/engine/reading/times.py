"""Instants as values spell them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from windowing.engine.reading.objects import BadValue

UNIT_US: Final = {"us": 1, "ms": 1_000, "s": 1_000_000}
"""Microseconds in a unit of event time."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)
_ISO = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)?", re.ASCII)


def integer_us(value: Any, unit_us: int) -> int:
    """Read an integer in a unit.

    Raises:
        BadValue: `bad_event_time`.
    """
    if type(value) is not int:
        raise BadValue("bad_event_time")
    return int(value * unit_us)


def iso_us(value: Any) -> int:
    """Parse `YYYY-MM-DDTHH:MM:SS[.ffffff][Z|±HH:MM]`; no zone means UTC.

    Raises:
        BadValue: `bad_event_time`.
    """
    match = _ISO.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise BadValue("bad_event_time")
    moment, fraction, zone = match.groups()
    try:
        seconds = (datetime.fromisoformat(moment + "+00:00") - _EPOCH) // _US
        ahead = _zone_us(zone) if zone and zone != "Z" else 0
    except ValueError:
        raise BadValue("bad_event_time") from None
    return seconds + int((fraction or "0").ljust(6, "0")) - ahead


def _zone_us(zone: str) -> int:
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > 23 or minutes > 59:
        msg = f"{zone} is not an offset from UTC"
        raise ValueError(msg)
    offset_us = (hours * 60 + minutes) * 60_000_000
    return -offset_us if zone[0] == "-" else offset_us
