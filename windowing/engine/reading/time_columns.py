"""Times as they are spelled in values: many at once, where that is certain."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from windowing.engine.loops import instants as loops
from windowing.engine.loops.instants import DIRECTIVE, DOUBTFUL, Bytes, Flags, Ints
from windowing.engine.reading.times import ahead_us
from windowing.engine.tuning import tuning
from windowing.model.times import POWERS, Spelling, TextTimes
from windowing.model.zones import Zone

_LETTERS: Final = frozenset("YmdHMSf")
_HOUR_US: Final = 3_600_000_000


class Places(NamedTuple):
    """Where texts and numbers are in some bytes, and which of them are to be read."""

    starts: Ints
    lengths: Ints
    data: Bytes
    valid: Flags


def instants(places: Places, spelling: Spelling) -> tuple[Ints, Flags]:
    """Return times in microseconds, and which of them are certain; no other one is."""
    found = np.empty(len(places.starts), np.int64)
    unit = spelling.unit
    if isinstance(unit, TextTimes):
        program = _program(unit)
        if program is None:
            return found, np.zeros(len(found), np.bool_)
        loops.read_written(*places, program, found)
        certain = found != DOUBTFUL
        return _zoned(found, certain, unit.zone) if unit.zone.name != "UTC" else (found, certain)
    if unit == "iso":
        loops.read_iso(*places, tuning().alike_fraction_digits, found)
    else:
        loops.read_numbers(*places, POWERS[unit], spelling.fraction, found)
    return found, found != DOUBTFUL


def _zoned(local: Ints, certain: Flags, zone: Zone) -> tuple[Ints, Flags]:
    """Return the instants of local times.

    In an hour at whose ends a zone is equally far ahead of UTC, it is so all the time: no zone has
    changed twice within an hour. Other hours are doubtful.
    """
    hours, place = np.unique(np.where(certain, local // _HOUR_US, 0), return_inverse=True)
    ahead = np.array([_ahead_us(int(hour), zone) for hour in hours], np.int64)[place]
    return local - ahead, certain & (ahead != DOUBTFUL)


@lru_cache(maxsize=65_536)
def _ahead_us(hour: int, zone: Zone) -> int:
    """Return by how much a zone is ahead of UTC in a local hour; `DOUBTFUL`: it changes."""
    at = hour * _HOUR_US
    try:
        ends = {*ahead_us(at, zone), *ahead_us(at + _HOUR_US, zone)}
    except OverflowError:
        return DOUBTFUL
    return ends.pop() if len(ends) == 1 else DOUBTFUL


@lru_cache(maxsize=64)
def _program(times: TextTimes) -> Bytes | None:
    """Return the format for a loop; None: it has parts that no loop reads."""
    if not {*times.letters} <= _LETTERS or not times.format.isascii():
        return None
    if any(character in '"\\' or character < " " for character in times.format):
        return None
    codes = [
        DIRECTIVE + ord(part) if is_directive and part != "%" else ord(part)
        for is_directive, part in times.parts
    ]
    return np.array(codes, np.uint8)
