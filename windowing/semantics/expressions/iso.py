"""Instants in ISO's spelling."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d)?(?(3)(?:\.(\d{1,12}))?)"
    r"(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_iso(text: str) -> int | None:
    """Return an instant in microseconds since 1970; None: it is none."""
    match = _INSTANT.fullmatch(text)
    if match is None:
        return None
    day, minute, second, fraction, _, sign, hours, minutes = match.groups()
    if int(hours or 0) > 23 or int(minutes or 0) > 59:
        return None
    try:
        moment = datetime.fromisoformat(f"{day}T{minute}{second or ':00'}+00:00")
    except ValueError:
        return None
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    since = moment - _EPOCH + timedelta(microseconds=int(f"{fraction or '':0<6}"[:6]))
    return (since + offset * (1 if sign == "-" else -1)) // timedelta(microseconds=1)
