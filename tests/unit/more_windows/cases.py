"""All recorded cases of these windows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tests.unit.more_windows import asof, calendars, cumulated, gaps, window_joins
from tests.unit.reading.plain_python import Case


def cases() -> Iterator[Case]:
    """Compute each of them."""
    for make in (
        calendars.days,
        calendars.weeks,
        calendars.months,
        calendars.history,
        calendars.other_times_of_day,
        calendars.sliding,
        calendars.late,
        cumulated.plain,
        cumulated.late,
        cumulated.local,
        gaps.filled,
        gaps.filled_local,
        gaps.filled_late,
        gaps.having,
        asof.on_time,
        asof.equal_times,
        partial(asof.equal_times, "z", "c"),
        partial(asof.late, "dead_letter"),
        partial(asof.late, "update"),
        window_joins.new_users,
        window_joins.overlapping,
        window_joins.on_a_day,
        window_joins.late,
    ):
        yield make()
