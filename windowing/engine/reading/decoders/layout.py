"""The layout of uniform values: their members in their order, to be read by column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from windowing.engine.loops import shapes, views
from windowing.engine.loops.shapes import (
    ARRAY,
    ARRAY_END,
    DECIMAL,
    FLAG,
    INTEGER,
    NULLABLE,
    NUMBER,
    OBJECT,
    OBJECT_END,
    TEXT,
    Bytes,
    Flags,
    Ints,
    Program,
)
from windowing.engine.reading.decoders.decoder import dtype_of
from windowing.engine.reading.decoders.members import Member
from windowing.engine.reading.time_columns import Places, instants
from windowing.engine.storage.frames import text_arrays
from windowing.engine.tuning import tuning

_INTEGERS: Final = (INTEGER, FLAG)
_PLACES: Final = (NUMBER, TEXT, DECIMAL)
_VIEW_BYTES: Final = 16


class _Found(NamedTuple):
    """What `windowing.engine.loops.shapes.read` fills."""

    integers: Ints
    starts: Ints
    lengths: Ints
    known: Flags
    matched: Flags


@dataclass(frozen=True)
class Layout:
    """Members in an order.

    Values of a layout are objects with these members, without escapes or spaces, except for one
    space after each colon and comma.
    """

    members: tuple[Member, ...]

    def read(self, values: pl.Series) -> tuple[pl.DataFrame, pl.Series] | None:
        """Read values by column.

        Args:
            values: bytes, or null, which has no layout.

        Returns:
            a column for each member that has one: integers, booleans, decimals and times as such,
            other values as text, null where a value is null or of another layout; and which values
            are of this one. None: there are too many bytes to be read at once.
        """
        offsets, data = text_arrays(values)
        limits = tuning()
        if len(data) > limits.alike_bytes_max:
            return None
        found = self._room(len(values))
        shapes.read(offsets, data, self._program, limits.alike_integer_digits, *found)
        if values.null_count():
            # Arrow may have bytes of a null, too.
            found.matched[:] &= values.is_not_null().to_numpy()
        # Times may show that values are doubtful.
        columns = [*self._columns(found, data)]
        return pl.DataFrame(columns), pl.Series(found.matched)

    def _room(self, values: int) -> _Found:
        integers, places = self._count(*_INTEGERS), self._count(*_PLACES)
        return _Found(
            np.empty((integers, values), np.int64),
            np.empty((places, values), np.int64),
            np.empty((places, values), np.int64),
            np.empty((len(self.members), values), np.bool_),
            np.empty(values, np.bool_),
        )

    def _columns(self, found: _Found, data: Bytes) -> Iterator[pl.Series]:
        for member, slot, known in zip(self.members, self._slots, found.known, strict=True):
            if member.column is None:
                continue
            valid = known & found.matched
            kind = member.kind & ~NULLABLE
            if kind in _INTEGERS:
                numbers = pl.Series(member.column, _integers(found.integers[slot], valid))
                yield numbers.cast(pl.Boolean) if kind == FLAG else numbers
                continue
            starts, lengths = found.starts[slot], found.lengths[slot]
            if member.spelling is not None:
                read, certain = instants(Places(starts, lengths, data, valid), member.spelling)
                found.matched[:] &= certain | ~valid
                yield pl.Series(member.column, _integers(read, valid & certain))
                continue
            texts = pl.Series(member.column, _texts(starts, lengths, data, valid))
            # The loop has counted the digits, so that nothing is rounded.
            yield texts if member.type_ is None else texts.cast(dtype_of(member.type_))

    def _count(self, *kinds: int) -> int:
        return sum(member.kind & ~NULLABLE in kinds for member in self.members)

    @cached_property
    def _program(self) -> Program:
        members = self.members
        names = ["" if one.name is None else f'"{one.name}":' for one in members]
        encoded = [name.encode() for name in names]
        decimals = [one.type_ for one in members]
        digits = [(0, 0) if d is None else (d.precision - d.scale, d.scale) for d in decimals]
        return (
            np.array([one.kind for one in members], np.uint8),
            np.array([ord(",") * one.follows for one in members], np.uint8),
            np.frombuffer(b"".join(encoded), np.uint8),
            np.cumsum([len(name) for name in encoded], dtype=np.int64),
            np.array(self._closers, np.int64),
            np.array(self._slots, np.int64),
            np.array(digits, np.int64),
        )

    @cached_property
    def _closers(self) -> list[int]:
        """Of what a member opens, where it is closed; of others, the member itself."""
        found, opened = [*range(len(self.members))], list[int]()
        for number, member in enumerate(self.members):
            kind = member.kind & ~NULLABLE
            if kind in (OBJECT, ARRAY):
                opened.append(number)
            elif kind in (OBJECT_END, ARRAY_END):
                found[opened.pop()] = number
        return found

    @cached_property
    def _slots(self) -> list[int]:
        """The row that each member fills, among those of its sort; of others, 0."""
        slots = list[int]()
        counts = dict.fromkeys((_INTEGERS, _PLACES), 0)
        for member in self.members:
            sort = next((one for one in counts if member.kind & ~NULLABLE in one), None)
            slots.append(0 if sort is None else counts[sort])
            if sort is not None:
                counts[sort] += 1
        return slots


def _integers(values: Ints, valid: Flags) -> pa.Array:
    buffers = [_bits(valid), pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.int64(), len(values), buffers)


def _texts(starts: Ints, lengths: Ints, data: Bytes, valid: Flags) -> pa.Array:
    if not valid.all():
        starts, lengths = np.where(valid, starts, 0), np.where(valid, lengths, 0)
    found = np.empty((len(starts), _VIEW_BYTES), np.uint8)
    views.view(starts, lengths, data, found)
    buffers = [_bits(valid), pa.py_buffer(found), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string_view(), len(starts), buffers)


def _bits(valid: Flags) -> pa.Buffer | None:
    """Return Arrow's bitmap of what is not null; None: all is."""
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
