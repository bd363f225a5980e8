"""Limits of times and lengths, so that no sum of them overflows 64 bits.

The end of a window, an epoch, a bound: each is a time and at most three lengths. With times within
3 * 2^61 and lengths within 2^59 all of them are 64-bit integers, which tables, state and other
engines hold. 3 * 2^61 us are about 219,000 years, 2^59 us about 18,000.
"""

from __future__ import annotations

from typing import Final

from windowing.model.errors import WindowError
from windowing.model.lengths import LENGTH_MAX, instant_us, spell_instant
from windowing.model.windows.sliding import begins_later
from windowing.model.windows.traits import Ends
from windowing.model.windows.window import Window

EARLIEST, LATEST = -3 * 2**61, 3 * 2**61
"""Event times, and values of other windowing attributes, are legal in [EARLIEST, LATEST)."""

WINDOWS_OF_A_RECORD = 1_000_000


def check_lengths(window: Window) -> None:
    """Check that a pipeline's windows are not too long, too far off, or too many.

    Raises:
        WindowError: E_VALUE, with the clause, its value and the limit.
    """
    merging = window.traits.merging
    named = {"SESSION" if merging else "RANGE": window.range_, "SLIDE": window.slide}
    lengths = [*named.items(), *(("GAPS", gap) for _, gap in window.gaps)]
    for clause, length in lengths:
        if length is not None and length > LENGTH_MAX:
            raise _beyond(f"{clause} {length}", f"at most {LENGTH_MAX} (2^59)")
    if abs(window.origin) > LENGTH_MAX:
        raise _beyond(f"ORIGIN {window.origin}", f"within {LENGTH_MAX} (2^59) of 0")
    traits = window.traits
    slides = traits.on_grid or traits.periodic or traits.ends is Ends.CALENDAR
    many = (window.range_ or 0) // window.slide if slides else 0
    if many > WINDOWS_OF_A_RECORD:
        what = f"RANGE {window.range_} SLIDE {window.slide}: every record lies in {many:,} windows"
        raise _beyond(what, f"in at most {WINDOWS_OF_A_RECORD:,}")


def _beyond(what: str, rule: str) -> WindowError:
    return WindowError("E_VALUE", f"{what}, and must be {rule}")


def check_reach(window: Window, earliest: int | None) -> None:
    """Check that a sink can hold the first windows of a query that begins later.

    Args:
        earliest: the earliest instant that the sink can hold; None: any.

    Raises:
        WindowError: E_ACTIVE.
    """
    active = window.active
    if earliest is None or active is None or active.begins_us is None:
        return
    if active.begins_us < earliest:
        msg = f"from {spell_instant(active.begins_us)}: the sink holds no time before "
        raise WindowError("E_ACTIVE", f"{msg}{spell_instant(earliest)}: begin then, or later")


def reach_back(window: Window) -> int:
    """Return how far before a record its windows may begin."""
    if window.traits.ends in (Ends.DRAWN, Ends.ROWS) or begins_later(window):
        return 0
    return window.range_ or 0


PLAUSIBLE_US: Final = (instant_us("1975-01-01"), instant_us("2100-01-01"))
"""Where event times of real logs lie, the end exclusive: seconds that are read as milliseconds lie
in January 1970, and milliseconds that are read as seconds in the year 58,000."""

SIZES_NS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
"""Nanoseconds in the units that producers write."""


def is_plausible(us: int, within: tuple[int, int] = PLAUSIBLE_US) -> bool:
    """Whether an event time may be meant."""
    return within[0] <= us < within[1]


def fitting_unit(unit: str, *written: int) -> str | None:
    """Return the unit by which times that were written in another one are plausible; None: none.

    Args:
        unit: the one they were read in.
        written: the numbers on the log.
    """
    for other, size in SIZES_NS.items():
        if other != unit and all(is_plausible(number * size // 1_000) for number in written):
            return other
    return None


def written_in(unit: str, us: int) -> int:
    """Return the number on the log of an event time that was read in a unit."""
    return us * 1_000 // SIZES_NS[unit]
