"""Time zones as tables of their transitions, for whole columns of times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from windowing.model.zones import Zone

Ints = NDArray[np.int64]

_SECOND_US: Final = 1_000_000
_US: Final = timedelta(microseconds=1)
_DAY: Final = 86_400  # seconds, as all spans here
# All zones have their mean local time before the first year, and rules that do not change any more
# after the second. Those of one year are those of 400 years later: a whole number of weeks.
_FIRST, _LAST = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (1800, 2100))
_CYCLE: Final = 146_097 * _DAY
_CYCLES: Final = 20


@dataclass(frozen=True, slots=True)
class Transitions:
    """A time zone, as its changes of offset.

    Attributes:
        starts: when its offset changes, in microseconds; rising.
        offsets: how far it is ahead of UTC: before the first of them, and from each of them on.
        ends: of each offset, the local time at which it ends, or a later one that was before.
    """

    starts: Ints
    offsets: Ints
    ends: Ints

    def offset_at(self, instants: Ints) -> Ints:
        """Return how far local time is ahead of UTC."""
        offsets: Ints = self.offsets[np.searchsorted(self.starts, instants, "right")]
        return offsets

    def instant_of(self, local: Ints) -> Ints:
        """Return instants of local times: of two the first; of none, that of the transition."""
        place = np.searchsorted(self.ends, local, "right")
        begin = np.concatenate([[np.iinfo(np.int64).min], self.starts])[place]
        instants: Ints = np.maximum(local - self.offsets[place], begin)
        return instants


@cache
def transitions(zone: Zone) -> Transitions:
    """Return a zone's transitions up to the year 10000."""
    info = zone.info

    def offset(second: int) -> int:
        ahead = datetime.fromtimestamp(second, info).utcoffset() or timedelta()
        return ahead // _US

    # No zone had another offset for less than four days (Freetown, 1939), and no rule has one for
    # less than a month.
    past = list(_changes(offset, _FIRST, _LAST, 3 * _DAY))
    cycle = list(_changes(offset, _LAST, _LAST + _CYCLE, 28 * _DAY))
    later = [at + n * _CYCLE for n in range(_CYCLES) for at in cycle]
    starts = [*past, *later]
    offsets = [offset(_FIRST), *map(offset, past), *[offset(at) for at in cycle] * _CYCLES]
    instants = np.array(starts, np.int64) * _SECOND_US
    ahead = np.array(offsets, np.int64)
    return Transitions(instants, ahead, np.maximum.accumulate(instants + ahead[:-1]))


def first_difference(one: Zone, other: Zone) -> tuple[int, int, int] | None:
    """Return the first instant at which two tables have other offsets, and both; microseconds.

    None: up to the year 10000 there is none, however the tables are written.
    """
    ours, theirs = transitions(one), transitions(other)
    begin = np.array([_FIRST], np.int64) * _SECOND_US
    instants = np.unique(np.concatenate([begin, ours.starts, theirs.starts]))
    before, after = ours.offset_at(instants), theirs.offset_at(instants)
    differ = np.flatnonzero(before != after)
    if not len(differ):
        return None
    first = differ[0]
    return int(instants[first]), int(before[first]), int(after[first])


def _changes(offset: Callable[[int], int], first: int, last: int, step: int) -> Iterator[int]:
    """Return the seconds in (first, last] from which on another offset holds."""
    begin, before = first, offset(first)
    for end in (*range(first + step, last, step), last):
        after = offset(end)
        if before != after:
            low, high = begin, end
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == before else (low, middle)
            yield high
        begin, before = end, after
