"""Reading JSON objects that all have the same fields in the same order."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from windowing.engine.loops.compiled import compiled, inlined

INTEGER, NUMBER, TEXT, INSTANT, IGNORED, FLAG, DECIMAL = range(7)
"""Kinds of members: integers of up to 18 digits; the places of numbers, of texts without escapes,
and of times by ISO 8601 in UTC; what is only checked; booleans as integers; the places of decimals
without an exponent, with or without quotes around them."""

NULLABLE: Final = 8
"""Added to the kind of a member that may be null."""

_QUOTE, _COMMA, _MINUS, _POINT, _ZERO, _NINE = (ord(character) for character in '",-.09')
_OPEN, _CLOSE, _ESCAPE, _SPACE = (ord(character) for character in "{}\\ ")
_N, _T, _F = (ord(character) for character in "ntf")
_NULL, _TRUE, _FALSE = (np.frombuffer(word, np.uint8) for word in (b"null", b"true", b"false"))
# Without a sign: a signed index would be asked whether it counts from the end.
_ONE, _TWO, _THREE, _FOUR = (np.uintp(number) for number in range(1, 5))
# The largest character at each place.
_SECONDS = np.frombuffer(b"9999-19-39T29:59:59", np.uint8)

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Digits = tuple[int, int]
"""How many an integer may have, and a fraction of a second; or a decimal, before and after the
point."""

Value = tuple[int, np.int64, int, int]
"""Where a value ends, or -1 if it is not of its kind; an integer's value; else the place where it
is: start and length."""


@compiled
def read(
    offsets: Ints,
    data: Bytes,
    kinds: Bytes,
    names: Bytes,
    name_ends: Ints,
    places: Ints,
    digits: Digits,
    integers: Ints,
    starts: Ints,
    lengths: Ints,
    known: Flags,
    matched: Flags,
) -> None:
    """Read objects without more space than one after each colon and comma.

    Args:
        offsets: where each object begins in `data`, and the last one ends.
        data: their bytes.
        kinds: of the members.
        names: the members' names as they stand in an object, with quotes and colon, in one piece.
        name_ends: where each of them ends.
        places: of decimals, how many digits they may have before and after the point; a row for
            each member.
        digits: longer numbers are not of this shape.
        integers: to be filled, a row for each integer.
        starts: to be filled, a row for each place in `data`: where it begins.
        lengths: to be filled, a row for each place: how long it is.
        known: to be filled, a row for each member: whether it is not null.
        matched: to be filled: which objects have this shape; of others nothing is known.
    """
    for row in range(len(offsets) - 1):
        at, end = offsets[row], offsets[row + 1]
        # Never so; but only then the compiler knows that no place counts from the end of the data.
        if at < 0 or end < at:
            matched[row] = False
            continue
        integer_row = place_row = name = 0
        before = _OPEN
        for member in range(len(kinds)):
            at = _name(data, at, end, before, names, name, name_ends[member])
            if at < 0:
                break
            kind, name, before = kinds[member], name_ends[member], _COMMA
            at, integer, start, length = _value(
                kind, data, at, end, digits, (places[member, 0], places[member, 1])
            )
            known[member, row] = start != 0
            kind &= ~NULLABLE
            if kind in (INTEGER, FLAG):
                integers[integer_row, row] = integer
                integer_row += 1
            elif kind != IGNORED:
                starts[place_row, row], lengths[place_row, row] = start, length
                place_row += 1
            if at < 0:
                break
        matched[row] = at >= 0 and at + 1 == end and data[at] == _CLOSE


@inlined
def _value(kind: int, data: Bytes, at: int, end: int, digits: Digits, places: Digits) -> Value:
    """Read a value of a kind; it starts at 0, where no value of an object can be, if it is null."""
    first = data[at] if at < end else _CLOSE
    if first == _N and (kind & NULLABLE or kind == IGNORED):
        return _word(data, at, end, _NULL), np.int64(0), 0, 0
    kind &= ~NULLABLE
    after, integer, length = -1, np.int64(0), 0
    if kind == INTEGER:
        after, integer = _integer(data, at, end, digits[0])
    elif kind == TEXT or (kind == IGNORED and first == _QUOTE):
        after = _text(data, at, end)
        at += 1
        length = after - 1 - at
    elif kind == INSTANT:
        after, length = _instant(data, at, end, digits[1])
        at += 1
    elif kind == FLAG:
        integer = np.int64(first == _T)
        after = _word(data, at, end, _TRUE if first == _T else _FALSE)
    elif kind == DECIMAL:
        quotes = 1 if first == _QUOTE else 0
        at += quotes
        after = _decimal(data, at, end, places)
        length = after - at
        if quotes:
            after = after + 1 if 0 <= after < end and data[after] == _QUOTE else -1
    elif kind == NUMBER or first not in (_T, _F):
        after = _number(data, at, end)
        length = after - at
    else:
        after = _word(data, at, end, _TRUE if first == _T else _FALSE)
    return after, integer, at, length


@inlined
def _name(data: Bytes, at: int, end: int, before: int, names: Bytes, first: int, last: int) -> int:
    """Return where a member's value begins; -1: this is another member."""
    if at >= end or data[at] != before:
        return -1
    at += 1
    if before == _COMMA and at < end and data[at] == _SPACE:
        at += 1
    if at + last - first >= end:
        return -1
    here, there, left = np.uintp(at), np.uintp(first), np.uintp(last - first)
    while left >= _FOUR:
        if _four(data, here) != _four(names, there):
            return -1
        here, there, left = here + _FOUR, there + _FOUR, left - _FOUR
    while left:
        if data[here] != names[there]:
            return -1
        here, there, left = here + _ONE, there + _ONE, left - _ONE
    at += last - first
    return at + 1 if data[at] == _SPACE else at


@inlined
def _four(data: Bytes, at: np.uintp) -> np.uint32:
    """Return four bytes as one number, which is read at once."""
    return (
        np.uint32(data[at])
        | np.uint32(data[at + _ONE]) << np.uint32(8)
        | np.uint32(data[at + _TWO]) << np.uint32(16)
        | np.uint32(data[at + _THREE]) << np.uint32(24)
    )


@inlined
def _word(data: Bytes, at: int, end: int, word: Bytes) -> int:
    """Return where a word ends; -1: it is not there."""
    if at + len(word) > end:
        return -1
    for character in word:
        if data[at] != character:
            return -1
        at += 1
    return at


@inlined
def _integer(data: Bytes, at: int, end: int, digits: int) -> tuple[int, np.int64]:
    """Return where an integer ends, and its value; -1: there is none, or it has more digits."""
    is_negative = at < end and data[at] == _MINUS
    if is_negative:
        at += 1
    if at >= end or data[at] < _ZERO or data[at] > _NINE:
        return -1, np.int64(0)
    if data[at] == _ZERO:
        return at + 1, np.int64(0)
    value, last = np.int64(0), min(end, at + digits)
    while at < last and _ZERO <= data[at] <= _NINE:
        value = value * 10 + np.int64(data[at] - _ZERO)
        at += 1
    return at, -value if is_negative else value


@inlined
def _number(data: Bytes, at: int, end: int) -> int:
    """Return where a number ends; -1: there is none."""
    if at < end and data[at] == _MINUS:
        at += 1
    if at < end and data[at] == _ZERO:
        at += 1
    else:
        at = _digits(data, at, end)
    if at >= 0 and at < end and data[at] == _POINT:
        at = _digits(data, at + 1, end)
    if at >= 0 and at < end and data[at] | 32 == ord("e"):
        at += 1
        if at < end and (data[at] == ord("+") or data[at] == _MINUS):
            at += 1
        at = _digits(data, at, end)
    return at


@inlined
def _decimal(data: Bytes, at: int, end: int, places: Digits) -> int:
    """Return where a number without an exponent ends; -1: there is none, or it has more digits."""
    if at < end and data[at] == _MINUS:
        at += 1
    first = at
    at = _digits(data, at, end)
    if at < 0:
        return -1
    zero = data[first] == _ZERO
    if zero and at > first + 1:
        return -1
    # A zero before the point is no digit.
    if at - first > places[0] and not (zero and at == first + 1):
        return -1
    if at < end and data[at] == _POINT:
        first = at + 1
        at = _digits(data, first, end)
        if at - first > places[1]:
            return -1
    # An exponent is no comma or bracket, and fails there.
    return at


@inlined
def _digits(data: Bytes, at: int, end: int) -> int:
    """Return where one digit or more end; -1: there is none."""
    first = at
    while at < end and _ZERO <= data[at] <= _NINE:
        at += 1
    return at if at > first else -1


@inlined
def _text(data: Bytes, at: int, end: int) -> int:
    """Return where a text ends, quotes included; -1: there is none, or it has escapes."""
    if at >= end or data[at] != _QUOTE:
        return -1
    at += 1
    while at < end:
        byte = data[at]
        if byte == _QUOTE:
            return at + 1
        if byte == _ESCAPE or byte < _SPACE:
            return -1
        length = 1 if byte < 128 else _character(data, at, end)
        if length == 0:
            return -1
        at += length
    return -1


@inlined
def _character(data: Bytes, at: int, end: int) -> int:
    """Return the length of a character beyond ASCII; 0: this is not UTF-8 (RFC 3629, section 4)."""
    first = data[at]
    length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if first < 0xC2 or first > 0xF4 or at + length > end:
        return 0
    for place in range(at + 1, at + length):
        if data[place] & 0xC0 != 0x80:
            return 0
    second = data[at + 1]
    if (first == 0xE0 and second < 0xA0) or (first == 0xED and second > 0x9F):
        return 0
    if (first == 0xF0 and second < 0x90) or (first == 0xF4 and second > 0x8F):
        return 0
    return length


@inlined
def _instant(data: Bytes, at: int, end: int, digits: int) -> tuple[int, int]:
    """Return where an ISO time in UTC ends, and its length without quotes and Z; -1: none."""
    first = at + 1
    if first + len(_SECONDS) >= end or data[at] != _QUOTE:
        return -1, 0
    for number, most in enumerate(_SECONDS):
        least = _ZERO if _ZERO <= most <= _NINE else most
        if not least <= data[first + number] <= most:
            return -1, 0
    # Hours end at 23.
    if data[first + 11] == ord("2") and data[first + 12] > ord("3"):
        return -1, 0
    at = first + len(_SECONDS)
    if data[at] == _POINT:
        at = _digits(data, at + 1, min(end, at + 1 + digits))
        if at < 0:
            return -1, 0
    length = at - first
    if at < end and data[at] == ord("Z"):
        at += 1
    return (at + 1, length) if at < end and data[at] == _QUOTE else (-1, 0)


@compiled
def view(starts: Ints, lengths: Ints, data: Bytes, views: Bytes) -> None:
    """Write places as Arrow's string views: texts of up to twelve bytes, or where others are.

    Args:
        starts: where the places begin.
        lengths: how long they are.
        data: where they are, less than 2 GiB.
        views: to be filled, 16 bytes for each.
    """
    for row in range(len(starts)):
        start, length = starts[row], lengths[row]
        for number in range(4):
            views[row, number] = (length >> (8 * number)) & 0xFF
        if length <= 12:
            for number in range(12):
                views[row, 4 + number] = data[start + number] if number < length else 0
            continue
        for number in range(4):
            views[row, 4 + number] = data[start + number]
            views[row, 8 + number] = 0
            views[row, 12 + number] = (start >> (8 * number)) & 0xFF
