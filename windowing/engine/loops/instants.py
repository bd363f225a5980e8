"""Reading times, as values spell them, into microseconds since 1970.

What is doubtful becomes `DOUBTFUL`. A loop here has no part in another module: the machine code
that is kept depends on one file.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from windowing.engine.loops.compiled import compiled, inlined

DOUBTFUL: Final = -(2**63)
"""No time that a loop reads."""

DIRECTIVE: Final = 128
"""Added to the letter of a directive in a program."""

_DOUBTFUL = np.int64(DOUBTFUL)
_DAY_US, _MINUTE_US, _SECOND_US = np.int64(86_400_000_000), np.int64(60_000_000), np.int64(10**6)
_SECOND_DIGITS = 6
_MOST_DIGITS = 18
_MINUS, _PLUS, _POINT, _COLON, _BLANK, _ZERO = (ord(character) for character in "-+.: 0")
_T, _SMALL_T, _Z, _SMALL_Z = (ord(character) for character in "TtZz")
_YEAR, _MONTH, _DAY, _HOUR, _MINUTE, _SECOND, _FRACTION = (
    DIRECTIVE + ord(letter) for letter in "YmdHMSf"
)

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]


@compiled
def read_iso(
    starts: Ints, lengths: Ints, data: Bytes, valid: Flags, digits: int, found: Ints
) -> None:
    """Read times by ISO 8601.

    Args:
        starts, lengths: the places of the texts in `data`.
        valid: which of them are to be read.
        digits: times with longer fractions of a second are doubtful.
        found: to be filled.
    """
    for row in range(len(starts)):
        found[row] = _DOUBTFUL
        if valid[row]:
            found[row] = _iso(data, starts[row], starts[row] + lengths[row], digits)


@compiled
def read_numbers(
    starts: Ints,
    lengths: Ints,
    data: Bytes,
    valid: Flags,
    power: int,
    fractions: bool,
    found: Ints,
) -> None:
    """Read numbers times a power of ten, rounded down.

    Args:
        starts, lengths: the places of the numbers in `data`.
        valid: which of them are to be read.
        power: of ten; what they are multiplied by.
        fractions: whether numbers may have one; exponents are always doubtful.
        found: to be filled.
    """
    for row in range(len(starts)):
        found[row] = _DOUBTFUL
        if valid[row]:
            at = starts[row]
            found[row] = _number(data, at, at + lengths[row], power, fractions)


@compiled
def read_written(
    starts: Ints, lengths: Ints, data: Bytes, valid: Flags, program: Bytes, found: Ints
) -> None:
    """Read texts in which every number has all its digits.

    Args:
        starts, lengths: the places of the texts in `data`.
        valid: which of them are to be read.
        program: the characters of a text, and letters of directives (Y m d H M S f).
        found: to be filled with the time that is written, as if it were in UTC.
    """
    for row in range(len(starts)):
        found[row] = _DOUBTFUL
        if valid[row]:
            found[row] = _written(data, starts[row], starts[row] + lengths[row], program)


@inlined
def _digits(data: Bytes, at: int, end: int, count: int) -> np.int64:
    """Return the number that has these digits; -1: there are fewer."""
    if at + count > end:
        return np.int64(-1)
    value = np.int64(0)
    for place in range(at, at + count):
        digit = np.int64(data[place]) - _ZERO
        if digit < 0 or digit > 9:
            return np.int64(-1)
        value = value * 10 + digit
    return value


@inlined
def _fraction(data: Bytes, at: int, end: int, digits: int) -> tuple[int, np.int64]:
    """Return where a fraction of a second ends, and its microseconds; -1: it has no digit."""
    first, us, unit = at, np.int64(0), np.int64(100_000)
    while at < end and at - first < digits:
        digit = np.int64(data[at]) - _ZERO
        if digit < 0 or digit > 9:
            break
        us += digit * unit
        unit //= 10
        at += 1
    return (at, us) if at > first else (-1, us)


@inlined
def _moment(
    year: np.int64,
    month: np.int64,
    day: np.int64,
    hour: np.int64,
    minute: np.int64,
    second: np.int64,
) -> np.int64:
    """Return a time of the calendar; doubtful: there is no such one."""
    if year < 1 or month < 1 or month > 12 or day < 1:
        return _DOUBTFUL
    if hour < 0 or hour > 23 or minute < 0 or minute > 59 or second < 0 or second > 59:
        return _DOUBTFUL
    long = 30 + ((month + month // 8) & 1)
    if month == 2:
        is_long = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        long = np.int64(29 if is_long else 28)
    if day > long:
        return _DOUBTFUL
    # Years begin in March, so that the odd day comes last.
    years = year - (1 if month < 3 else 0)
    days = 365 * years + years // 4 - years // 100 + years // 400
    days += (153 * (month + (9 if month < 3 else -3)) + 2) // 5 + day - 1 - 719_468
    return days * _DAY_US + (hour * 60 + minute) * _MINUTE_US + second * _SECOND_US


@inlined
def _iso(data: Bytes, at: int, end: int, digits: int) -> np.int64:
    """Return a time; doubtful: it is none."""
    if at + 16 > end:
        return _DOUBTFUL
    year, month = _digits(data, at, end, 4), _digits(data, at + 5, end, 2)
    day, hour = _digits(data, at + 8, end, 2), _digits(data, at + 11, end, 2)
    minute, second, us = _digits(data, at + 14, end, 2), np.int64(0), np.int64(0)
    between = data[at + 10]
    if data[at + 4] != _MINUS or data[at + 7] != _MINUS or data[at + 13] != _COLON:
        return _DOUBTFUL
    if between != _T and between != _SMALL_T and between != _BLANK:  # noqa: PLR1714 - compiled
        return _DOUBTFUL
    at += 16
    if at < end and data[at] == _COLON:
        second = _digits(data, at + 1, end, 2)
        at += 3
        if at < end and data[at] == _POINT:
            at, us = _fraction(data, at + 1, end, digits)
            if at < 0:
                return _DOUBTFUL
    ahead = np.int64(0)
    if at < end and (data[at] == _Z or data[at] == _SMALL_Z):
        at += 1
    elif at < end and (data[at] == _PLUS or data[at] == _MINUS):
        sign = 1 if data[at] == _PLUS else -1
        hours, minutes = _digits(data, at + 1, end, 2), np.int64(0)
        at += 3
        if at < end:
            at += 1 if data[at] == _COLON else 0
            minutes = _digits(data, at, end, 2)
            at += 2
        if hours < 0 or hours > 23 or minutes < 0 or minutes > 59:
            return _DOUBTFUL
        ahead = sign * (hours * 60 + minutes) * _MINUTE_US
    local = _moment(year, month, day, hour, minute, second)
    return local + us - ahead if at == end and local != _DOUBTFUL else _DOUBTFUL


@inlined
def _number(data: Bytes, at: int, end: int, power: int, fractions: bool) -> np.int64:
    """Return a number times a power of ten, rounded down; doubtful: it is long, or not plain."""
    is_negative = at < end and data[at] == _MINUS
    if is_negative:
        at += 1
    point = end
    for place in range(at, end):
        if data[place] == _POINT:
            point = place
    if point < end and not fractions:
        return _DOUBTFUL
    kept = point - at + power
    if kept > _MOST_DIGITS:
        return _DOUBTFUL
    value, read, rest = np.int64(0), 0, np.int64(0)
    for place in range(at, end):
        if place == point:
            continue
        digit = np.int64(data[place]) - _ZERO
        if digit < 0 or digit > 9:
            return _DOUBTFUL
        if read < kept:
            value = value * 10 + digit
        elif digit > 0:
            rest = np.int64(1)
        read += 1
    while read < kept:
        value *= 10
        read += 1
    return -value - rest if is_negative else value


@inlined
def _written(data: Bytes, at: int, end: int, program: Bytes) -> np.int64:
    """Return a local time; doubtful: it is none, or has fewer digits."""
    year = month = day = np.int64(-1)
    hour = minute = second = us = np.int64(0)
    for part in program:
        if part < DIRECTIVE:
            if at >= end or data[at] != part:
                return _DOUBTFUL
            at += 1
        elif part == _FRACTION:
            at, us = _fraction(data, at, end, _SECOND_DIGITS)
            if at < 0:
                return _DOUBTFUL
        else:
            count = 4 if part == _YEAR else 2
            value = _digits(data, at, end, count)
            if value < 0:
                return _DOUBTFUL
            at += count
            if part == _YEAR:
                year = value
            elif part == _MONTH:
                month = value
            elif part == _DAY:
                day = value
            elif part == _HOUR:
                hour = value
            elif part == _MINUTE:
                minute = value
            else:
                second = value
    local = _moment(year, month, day, hour, minute, second)
    return local + us if at == end and local != _DOUBTFUL else _DOUBTFUL
