"""Instants and the calendar: years 1 to 9999, in UTC or in a zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from windowing.model.zones import Zone
from windowing.semantics.expressions.failure import ExpressionFailure

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)


def moment_of(us: int) -> datetime:
    """Return an instant on the calendar, in UTC; one that it does not have fails."""
    try:
        return _EPOCH + timedelta(microseconds=us)
    except OverflowError:
        raise ExpressionFailure("outside of years 1 to 9999") from None


def local_time(us: int, zone: Zone | None) -> datetime:
    """Return what clocks show at an instant, without a zone; what no calendar has fails."""
    moment = moment_of(us)
    if zone is None:
        return moment.replace(tzinfo=None)
    try:
        return moment.astimezone(zone.info).replace(tzinfo=None, fold=0)
    except OverflowError:
        raise ExpressionFailure("outside of years 1 to 9999") from None


def extracted(us: int, unit: str, zone: Zone | None = None) -> int:
    """Return one part of the local time."""
    local = local_time(us, zone)
    if unit == "quarter":
        return (local.month + 2) // 3
    if unit == "doy":
        return local.timetuple().tm_yday
    if unit in ("isodow", "week", "isoyear"):
        iso = local.isocalendar()
        return {"isodow": iso.weekday, "week": iso.week, "isoyear": iso.year}[unit]
    part: int = getattr(local, unit)
    return part


def truncated(us: int, unit: str, zone: Zone | None = None) -> int:
    """Return the instant at which the local second, …, year began."""
    local = local_time(us, zone)
    if unit in ("second", "minute", "hour"):
        zeros = {"second": ("microsecond",), "minute": ("microsecond", "second")}
        names = zeros.get(unit, ("microsecond", "second", "minute"))
        return us - (local - local.replace(**dict.fromkeys(names, 0))) // _US  # type: ignore[arg-type]
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        midnight -= timedelta(days=midnight.weekday())
    elif unit != "day":
        first = {"month": local.month, "quarter": local.month - (local.month - 1) % 3}
        midnight = midnight.replace(month=first.get(unit, 1), day=1)
    return _instant(midnight, zone)


def _instant(local: datetime, zone: Zone | None) -> int:
    """Return the first instant at which clocks show a time; skipped: the first one after it."""
    us = (local - datetime(1970, 1, 1)) // _US  # noqa: DTZ001 - both without a zone
    if zone is None:
        return us
    here = local.replace(tzinfo=zone.info)
    first, second = (_offset(here.replace(fold=fold)) for fold in (0, 1))
    if second <= first:
        return us - first  # shown once or twice
    # Skipped: before it the zone's offset was `first`, and now it is another one.
    before, after = us - second, us - first
    while after - before > 1:
        middle = (before + after) // 2
        shown = local_time(middle, zone)
        still = (shown - moment_of(middle).replace(tzinfo=None)) // _US == first
        before, after = (middle, after) if still else (before, middle)
    return after


def _offset(moment: datetime) -> int:
    offset = moment.utcoffset()
    assert offset is not None  # noqa: S101 - it has a zone
    return offset // _US
