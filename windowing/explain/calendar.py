"""Where windows of local time end next, as the zone's clocks show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, cast

import numpy as np

from windowing.engine.wids import Ints
from windowing.engine.windows.calendar import CalendarNumbering
from windowing.engine.windows.cumulate import numbering_of
from windowing.model.lengths import spell_us
from windowing.model.query import Flow
from windowing.model.windows.calendar import CalendarWindow
from windowing.model.windows.cumulate import Cumulate
from windowing.model.windows.traits import Ends
from windowing.model.windows.window import Window
from windowing.model.zones import Zone

_SHOWN: Final = 4
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def next_edges(flows: Iterable[Flow], now_us: int) -> Iterator[str]:
    """Give the lines about where windows of local time end next; none for other windows."""
    for flow in flows:
        window, now = flow.extents_in, np.array([now_us])
        lines: Iterator[str] = iter(())
        if window is None:
            continue
        if window.traits.ends is Ends.CALENDAR:
            lines = _edges(window, now)
        elif window.traits.periodic and not window.traits.pictured:
            lines = _periods(window, now)
        for place, line in enumerate(lines):
            yield f"{flow.name}: {line}" if not place else f"  {line}"


def _edges(window: Window, now: Ints) -> Iterator[str]:
    """Give the lines about the next edges, and about the next one that is not as usual."""
    calendar = cast("CalendarWindow", window)
    numbering, zone = CalendarNumbering(calendar), calendar.slides.zone
    first = numbering.open_from(now)
    edges = numbering.ends(first + np.arange(_SHOWN)).tolist()
    shown = [
        f"{number} ends {local_time(edge, zone)}"
        for number, edge in zip(range(int(first[0]), int(first[0]) + _SHOWN), edges, strict=True)
    ]
    yield f"next windows, by {zone}: {', '.join(shown)}"
    if calendar.slides.step == "day":
        ends = numbering.ends(first + np.arange(_YEAR // calendar.slides.steps + 2))
        lengths = np.diff(ends)
        odd = np.flatnonzero(lengths != calendar.slides.mean_us)
        if len(odd):
            at, length = (spans[odd[0]].item() for spans in (ends, lengths))
            usual = spell_us(calendar.slides.mean_us)
            yield (
                f"from {local_time(at, zone)} to {local_time(at + length, zone)} it is "
                f"{spell_us(length)}, not {usual}"
            )


_YEAR: Final = 366


def _periods(window: Window, now: Ints) -> Iterator[str]:
    """Give the lines about the period of now, and where its next windows end."""
    cumulating = cast("Cumulate", window)
    assert cumulating.calendar is not None  # noqa: S101 - of local time
    numbering, zone = numbering_of(cumulating), cumulating.calendar.zone
    (first,), (last,) = (windows.tolist() for windows in numbering.span(now))
    start, end = numbering.bounds(first)[0], numbering.bounds(last)[1]
    windows = last - first + 1 + (first - numbering.open_from(np.array([start])).tolist()[0])
    yield (
        f"the period from {local_time(start, zone)} ends {local_time(end, zone)}: it has "
        f"{windows:,} windows, and {cumulating.numbers:,} numbers"
    )
    ends = [(wid, numbering.bounds(wid)[1]) for wid in range(first, min(first + _SHOWN, last + 1))]
    shown = [f"{wid} ends {local_time(end, zone)}" for wid, end in ends]
    yield f"next windows, by {zone}: {', '.join(shown)}"


def local_time(instant_us: int, zone: Zone) -> str:
    """Return an instant as clocks of a zone show it, with their offset; exact to the minute."""
    try:
        local = (_EPOCH + timedelta(microseconds=instant_us)).astimezone(zone.info)
    except OverflowError:
        return f"{instant_us} us"
    exact = "minutes" if instant_us % 60_000_000 == 0 else "auto"
    return local.isoformat(timespec=exact)
