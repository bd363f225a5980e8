"""The layout of uniform values: their fields in their order, to be read by column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from windowing.engine.columns import WRITTEN_TIME, field_column
from windowing.engine.loops import shapes
from windowing.engine.loops.shapes import (
    IGNORED,
    INSTANT,
    INTEGER,
    NULLABLE,
    NUMBER,
    TEXT,
    Bytes,
    Flags,
    Ints,
)
from windowing.engine.reading.rules import ValueRules
from windowing.engine.storage.frames import text_arrays
from windowing.engine.tuning import tuning

_KIND: Final = {"int": INTEGER, "float": NUMBER, "string": TEXT}
_PLACES: Final = (NUMBER, TEXT, INSTANT)
_VIEW_BYTES: Final = 16


@dataclass(frozen=True)
class Member:
    """One field of the values.

    Attributes:
        name: as it is written between quotes, without escapes.
        kind: of `windowing.engine.loops.shapes`.
        column: the column that it is read into; None: it is only checked.
    """

    name: str
    kind: int
    column: str | None


class _Found(NamedTuple):
    """What `windowing.engine.loops.shapes.read` fills."""

    integers: Ints
    starts: Ints
    lengths: Ints
    known: Flags
    matched: Flags


@dataclass(frozen=True)
class Layout:
    """Fields in an order.

    Values of a layout are objects with these fields, without escapes, nesting or spaces, except for
    one space after each colon and comma.
    """

    members: tuple[Member, ...]

    @classmethod
    def of(cls, names: Sequence[str], rules: ValueRules) -> Layout:
        """Return the layout of values with these fields, in this order."""
        return cls(tuple(_member(name, rules) for name in names))

    def read(self, values: pl.Series) -> tuple[pl.DataFrame, pl.Series] | None:
        """Read values by column.

        Args:
            values: bytes, or null, which has no layout.

        Returns:
            a column for each member that has one: integers as such, other values as text, null
            where a value is null or of another layout; and which values are of this one. None:
            there are too many bytes to be read at once.
        """
        offsets, data = text_arrays(values)
        limits = tuning()
        if len(data) > limits.alike_bytes_max:
            return None
        found = self._room(len(values))
        kinds, names, ends = self._program
        digits = limits.alike_integer_digits, limits.alike_fraction_digits
        shapes.read(offsets, data, kinds, names, ends, digits, *found)
        if values.null_count():
            # Arrow may have bytes of a null, too.
            found.matched[:] &= values.is_not_null().to_numpy()
        return pl.DataFrame([*self._columns(found, data)]), pl.Series(found.matched)

    def _room(self, values: int) -> _Found:
        integers, places = self._count(INTEGER), self._count(*_PLACES)
        return _Found(
            np.empty((integers, values), np.int64),
            np.empty((places, values), np.int64),
            np.empty((places, values), np.int64),
            np.empty((len(self.members), values), np.bool_),
            np.empty(values, np.bool_),
        )

    def _columns(self, found: _Found, data: Bytes) -> Iterator[pl.Series]:
        integers = iter(found.integers)
        places = zip(found.starts, found.lengths, strict=True)
        for member, known in zip(self.members, found.known, strict=True):
            if member.column is None:
                continue
            valid = known & found.matched
            if member.kind & ~NULLABLE == INTEGER:
                column = _integers(next(integers), valid)
            else:
                column = _texts(*next(places), data, valid)
            yield pl.Series(member.column, column)

    def _count(self, *kinds: int) -> int:
        return sum(member.kind & ~NULLABLE in kinds for member in self.members)

    @cached_property
    def _program(self) -> tuple[Bytes, Bytes, Ints]:
        """The kinds of the members, their names in one piece, and where each of them ends."""
        kinds = np.array([member.kind for member in self.members], np.uint8)
        names = [f'"{member.name}":'.encode() for member in self.members]
        ends = np.cumsum([len(name) for name in names], dtype=np.int64)
        return kinds, np.frombuffer(b"".join(names), np.uint8), ends


def _member(name: str, rules: ValueRules) -> Member:
    time = rules.event_time
    if name == time.field and rules.time is None:
        kind = INSTANT if time.unit == "iso" else INTEGER
        return Member(name, kind, WRITTEN_TIME)
    if name not in rules.fields:
        return Member(name, IGNORED, None)
    type_, nullable = rules.fields[name]
    return Member(name, _KIND[type_] | (NULLABLE if nullable else 0), field_column(name))


def _integers(values: Ints, valid: Flags) -> pa.Array:
    buffers = [_bits(valid), pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.int64(), len(values), buffers)


def _texts(starts: Ints, lengths: Ints, data: Bytes, valid: Flags) -> pa.Array:
    if not valid.all():
        starts, lengths = np.where(valid, starts, 0), np.where(valid, lengths, 0)
    views = np.empty((len(starts), _VIEW_BYTES), np.uint8)
    shapes.view(starts, lengths, data, views)
    buffers = [_bits(valid), pa.py_buffer(views), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string_view(), len(starts), buffers)


def _bits(valid: Flags) -> pa.Buffer | None:
    """Return Arrow's bitmap of what is not null; None: all is."""
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
