"""Reading JSON objects that all have the same members in the same order, inside of others, too."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from windowing.engine.loops.compiled import compiled, inlined

INTEGER, NUMBER, TEXT, IGNORED, FLAG, DECIMAL, NOTHING = range(7)
"""Kinds of members: integers of up to 18 digits; the places of numbers, and of texts without
escapes; what is only checked; booleans as integers; the places of decimals without an exponent,
with or without quotes around them; null."""

OBJECT, ARRAY, OBJECT_END, ARRAY_END, REST = range(16, 21)
"""Kinds of members that open and close what others are inside of; any more elements of an array."""

NULLABLE: Final = 32
"""Added to the kind of a member that may be null; of an object or an array, also empty: nothing is
inside of it then."""

_QUOTE, _COMMA, _MINUS, _POINT, _ZERO, _NINE = (ord(character) for character in '",-.09')
_OPEN, _CLOSE, _ESCAPE, _SPACE = (ord(character) for character in "{}\\ ")
_OPEN_ARRAY, _CLOSE_ARRAY, _COLON = (ord(character) for character in "[]:")
_N, _T, _F = (ord(character) for character in "ntf")
_NULL, _TRUE, _FALSE = (np.frombuffer(word, np.uint8) for word in (b"null", b"true", b"false"))
# Without a sign: a signed index would be asked whether it counts from the end.
_ONE, _TWO, _THREE, _FOUR = (np.uintp(number) for number in range(1, 5))
# What is nested deeper, and not declared, is left to others.
_DEPTH = 60
_BIT = np.uint64(1)

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Digits = tuple[int, int]
"""How many a decimal may have before and after the point."""

Program = tuple[Bytes, Bytes, Bytes, Ints, Ints, Ints, Ints]
"""Of the members: their kinds; what stands before each (a comma, or 0); their names as they stand
in an object, with quotes and colon, in one piece; where each name ends; where what each opens is
closed; the row that each fills; of decimals, how many digits they may have before and after the
point."""

Value = tuple[int, np.int64, int, int]
"""Where a value ends, or -1 if it is not of its kind; an integer's value; else the place where it
is: start and length."""


@compiled
def read(
    offsets: Ints,
    data: Bytes,
    program: Program,
    digits: int,
    integers: Ints,
    starts: Ints,
    lengths: Ints,
    known: Flags,
    matched: Flags,
) -> None:
    """Read objects without more space than one after each colon and comma.

    Args:
        offsets: where each object begins in `data`, their bytes, and the last one ends.
        program: the members.
        digits: integers with more are not of this shape.
        integers: to be filled, a row for each integer.
        starts, lengths: to be filled, a row for each place in `data`: where it is.
        known: to be filled, a row for each member: whether it is not null.
        matched: to be filled: which objects have this shape; of others nothing is known.
    """
    kinds, befores, names, name_ends, closers, slots, places = program
    count = len(kinds)
    for row in range(len(offsets) - 1):
        at, end = offsets[row], offsets[row + 1]
        # Never so; but only then the compiler knows that no place counts from the end of the data.
        if at < 0 or end < at:
            matched[row] = False
            continue
        member = 0
        while member < count:
            name = name_ends[member - 1] if member else 0
            at = _name(data, at, end, befores[member], names, name, name_ends[member])
            if at < 0:
                break
            kind = kinds[member]
            if kind & ~NULLABLE >= OBJECT:
                at, is_empty = _structure(kind, data, at, end)
                if at < 0:
                    break
                if is_empty:
                    for inside in range(member, closers[member]):
                        known[inside, row] = False
                    member = closers[member]
                member += 1
                continue
            at, integer, start, length = _value(
                kind, data, at, end, digits, (places[member, 0], places[member, 1])
            )
            known[member, row] = start != 0
            kind &= ~NULLABLE
            if kind in (INTEGER, FLAG):
                integers[slots[member], row] = integer
            elif kind not in (IGNORED, NOTHING):
                starts[slots[member], row], lengths[slots[member], row] = start, length
            if at < 0:
                break
            member += 1
        matched[row] = at == end


@inlined
def _structure(kind: int, data: Bytes, at: int, end: int) -> tuple[int, bool]:
    """Return where what a member opens or closes goes on, or -1; and whether nothing is inside."""
    may_be_empty, kind = kind & NULLABLE != 0, kind & ~NULLABLE
    if kind == REST:
        while 0 <= at < end and data[at] == _COMMA:
            at += 1
            if at < end and data[at] == _SPACE:
                at += 1
            at = _any(data, at, end)
        return at, False
    if at >= end:
        return -1, False
    if may_be_empty and data[at] == _N:
        return _word(data, at, end, _NULL), True
    if kind == OBJECT_END:
        return (at + 1 if data[at] == _CLOSE else -1), False
    if kind == ARRAY_END:
        return (at + 1 if data[at] == _CLOSE_ARRAY else -1), False
    opening, closing = (_OPEN, _CLOSE) if kind == OBJECT else (_OPEN_ARRAY, _CLOSE_ARRAY)
    if data[at] != opening:
        return -1, False
    at += 1
    if may_be_empty and at < end and data[at] == closing:
        return at + 1, True
    return at, False


@compiled
def _any(data: Bytes, at: int, end: int) -> int:
    """Return where any value ends; -1: there is none, or it is deep, or has escapes."""
    depth, objects = 0, np.uint64(0)  # the last bit says whether the innermost is an object
    while True:
        first = data[at] if at < end else _CLOSE
        is_object = first == _OPEN
        if is_object or first == _OPEN_ARRAY:
            at, depth, objects = at + 1, depth + 1, objects << _BIT | np.uint64(is_object)
            if at >= end or depth > _DEPTH:
                return -1
            if data[at] != (_CLOSE if is_object else _CLOSE_ARRAY):
                at = _key(data, at, end) if is_object else at
                if at < 0:
                    return -1
                continue
        else:
            at = _scalar(data, at, end, first)
        while depth > 0 and 0 <= at < end:
            if data[at] != (_CLOSE if objects & _BIT == _BIT else _CLOSE_ARRAY):
                break
            at, depth, objects = at + 1, depth - 1, objects >> _BIT
        if at < 0 or depth == 0:
            return at
        at = _next(data, at, end, objects & _BIT == _BIT)
        if at < 0:
            return -1


@inlined
def _scalar(data: Bytes, at: int, end: int, first: int) -> int:
    """Return where a text, a number, a truth value or null ends; -1: there is none."""
    if first == _QUOTE:
        return _text(data, at, end)
    if first == _N:
        return _word(data, at, end, _NULL)
    if first in (_T, _F):
        return _word(data, at, end, _TRUE if first == _T else _FALSE)
    return _number(data, at, end)


@inlined
def _next(data: Bytes, at: int, end: int, in_object: bool) -> int:
    """Return where the next value begins, behind a comma; -1: there is none."""
    if at >= end or data[at] != _COMMA:
        return -1
    at += 1
    if at < end and data[at] == _SPACE:
        at += 1
    return _key(data, at, end) if in_object else at


@compiled
def _key(data: Bytes, at: int, end: int) -> int:
    """Return where the value of any member begins; -1: there is no member."""
    at = _text(data, at, end)
    if at < 0 or at >= end or data[at] != _COLON:
        return -1
    at += 1
    return at + 1 if at < end and data[at] == _SPACE else at


@inlined
def _value(kind: int, data: Bytes, at: int, end: int, digits: int, places: Digits) -> Value:
    """Read a value of a kind; it starts at 0, where no value of an object can be, if it is null."""
    first = data[at] if at < end else _CLOSE
    if first == _N and (kind & NULLABLE or kind in (IGNORED, NOTHING)):
        return _word(data, at, end, _NULL), np.int64(0), 0, 0
    kind &= ~NULLABLE
    after, integer, length = -1, np.int64(0), 0
    if kind == INTEGER:
        after, integer = _integer(data, at, end, digits)
    elif kind == TEXT:
        after = _text(data, at, end)
        at += 1
        length = after - 1 - at
    elif kind == IGNORED:
        after = _any(data, at, end)
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
    elif kind == NUMBER:
        after = _number(data, at, end)
        length = after - at
    return after, integer, at, length


@inlined
def _name(data: Bytes, at: int, end: int, before: int, names: Bytes, first: int, last: int) -> int:
    """Return where a member's value begins; -1: this is another member."""
    if before:
        if at >= end or data[at] != before:
            return -1
        at += 1
        if at < end and data[at] == _SPACE:
            at += 1
    if at + last - first > end:
        return -1
    if first == last:
        return at
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
    return at + 1 if at < end and data[at] == _SPACE else at


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
