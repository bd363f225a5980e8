"""Frames whose columns take as few bytes as they need.

A table of partial states is a handful of 64-bit numbers per row, and most of them are near the
others of their column, are all the same, or are as far apart as those of another column: a slice's
windows, a number of records and of values. So a column of integers is stored as distances from its
smallest, once for all columns with the same ones, and texts as places among the distinct ones. That
is a third of the bytes to compress, to store and to read, and costs less than compressing the rest.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from windowing.engine.groups import Groups

Words = NDArray[np.unsignedinteger[Any]]
Known = dict[int, dict[str, Words]]
"""Distances by the largest of them, since only those can be equal, and by their column."""

_WIDEST: Final = int(np.iinfo(np.uint32).max)
_REPEATED: Final = 2
"""How often a text occurs on average if places are worth it."""


class Distances(msgspec.Struct, array_like=True):
    """How a column of integers follows from distances.

    Attributes:
        origin: is added to all of them.
        of: the column whose distances these are, mostly itself; None: all are zero.
    """

    origin: int
    of: str | None


class Widening(msgspec.Struct, array_like=True):
    """How the columns of a frame follow from narrow ones.

    Attributes:
        rows: their number, which columns that are all the same do not tell.
        names: of all columns, in order; those that are named nowhere else are as they were.
        integers: how columns of 64-bit integers follow from distances.
        texts: columns that are places among these texts.
    """

    rows: int
    names: list[str]
    integers: dict[str, Distances]
    texts: dict[str, list[str | None]]


def narrowed(frame: pl.DataFrame) -> tuple[Widening, pl.DataFrame]:
    """Return the narrow columns of a frame, and how the frame follows from them."""
    widening, kept = Widening(len(frame), frame.columns, {}, {}), list[pl.Series]()
    known: Known = {}
    for column in frame:
        narrow: pl.Series | None = column
        if column.dtype == pl.String:
            narrow = _places(column, widening)
        elif column.dtype == pl.Int64 and len(column) and not column.null_count():
            narrow = _distances(column, widening, known)
        if narrow is not None:
            kept.append(narrow)
    return widening, pl.DataFrame(kept)


def in_fewest_bytes(values: NDArray[Any]) -> Words:
    """Return integers, none of them negative, in as few bytes each as all of them need."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def widened(widening: Widening, narrow: pl.DataFrame) -> pl.DataFrame:
    """Return the frame that `narrowed` was given."""
    return pl.DataFrame([_widened(name, widening, narrow) for name in widening.names])


def _widened(name: str, widening: Widening, narrow: pl.DataFrame) -> pl.Series:
    if name in widening.texts:
        return pl.Series(name, widening.texts[name], dtype=pl.String)[narrow[name]]
    distances = widening.integers.get(name)
    if distances is None:
        return narrow[name]
    if distances.of is None:
        return pl.Series(name, np.full(widening.rows, distances.origin))
    values = narrow[distances.of].to_numpy().astype(np.int64)
    values += distances.origin
    return pl.Series(name, values)


def _distances(column: pl.Series, widening: Widening, known: Known) -> pl.Series | None:
    """Return a column's distances; None: they are known, or zero; if they are far, the column."""
    values = column.to_numpy()
    origin, largest = int(values.min()), int(values.max())
    if largest - origin > _WIDEST:
        return column
    if largest == origin:
        widening.integers[column.name] = Distances(origin, None)
        return None
    distances = in_fewest_bytes(values - origin)
    alike = known.setdefault(largest - origin, {})
    for name, found in alike.items():
        if np.array_equal(found, distances):
            widening.integers[column.name] = Distances(origin, name)
            return None
    alike[column.name] = distances
    widening.integers[column.name] = Distances(origin, column.name)
    return pl.Series(column.name, distances)


def _places(column: pl.Series, widening: Widening) -> pl.Series:
    """Return where a column's texts are among the distinct ones, if they occur often enough."""
    groups = Groups.by(column.to_frame(), [column.name])
    if groups.count * _REPEATED > len(column):
        return column
    widening.texts[column.name] = column[groups.first].to_list()
    return pl.Series(column.name, in_fewest_bytes(groups.number))
