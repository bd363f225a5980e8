"""Frames whose columns take as few bytes as they need.

A table of partial states is a handful of 64-bit numbers per row, and most of them are near the
others of their column, are all the same, or are as far apart as those of another column: a slice's
windows, a number of records and of values. So a column of integers is stored as distances from its
smallest, once for all columns with the same ones, and texts as places among the distinct ones. That
is a third of the bytes to compress, to store and to read, and costs less than compressing the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from windowing.engine.groups import Groups

Part = tuple["Widening", pl.DataFrame]
"""How a frame follows from narrow columns, and these."""

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


def narrowed(frame: pl.DataFrame) -> Part:
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


def narrowed_slices(frame: pl.DataFrame, lengths: Sequence[int]) -> Iterator[Part]:
    """Return what `narrowed` would of each slice, looking at the columns of the whole only once.

    Args:
        frame: the frame.
        lengths: of consecutive slices; none is empty.
    """
    (widening, narrow), begin = narrowed(frame), 0
    for length in lengths:
        own = msgspec.structs.replace(widening, rows=length, texts={})
        columns = narrow.slice(begin, length)
        for name, texts in widening.texts.items():
            places = _own_places(columns[name], texts, own)
            if places is None:
                places = _places(frame[name].slice(begin, length), own)
            columns.replace_column(columns.get_column_index(name), places)
        yield own, columns
        begin += length


def _own_places(places: pl.Series, texts: Sequence[str | None], own: Widening) -> pl.Series | None:
    """Return the places of a slice among texts of its own; None: others lie between these.

    None does if the slice has its texts to itself, as one has those of keys that go to one shard.
    """
    found = places.to_numpy()
    least, most = int(found.min()), int(found.max())
    if most - least >= len(found):
        return None
    own.texts[places.name] = [*texts[least : most + 1]]
    return pl.Series(places.name, in_fewest_bytes(found - least))


def in_fewest_bytes(values: NDArray[Any]) -> Words:
    """Return integers, none of them negative, in as few bytes each as all of them need."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def widened(*parts: Part) -> pl.DataFrame:
    """Return the frame that `narrowed` was given; several with the same columns as one.

    Each column is written once, as large as it is in all parts together.
    """
    (widening, narrow), *more = parts
    if not more and not is_narrow(parts[0]):
        return narrow
    return pl.DataFrame([_column(name, parts) for name in widening.names])


def is_narrow(part: Part) -> bool:
    """Whether any column follows from a narrow one."""
    widening, _ = part
    return bool(widening.integers or widening.texts)


def with_column(part: Part, column: pl.Series) -> Part:
    """Add a column, as it is."""
    widening, narrow = part
    names = [*widening.names, column.name]
    more = narrow.hstack([column]) if narrow.width else column.to_frame()
    return msgspec.structs.replace(widening, names=names), more


def _column(name: str, parts: Sequence[Part]) -> pl.Series:
    if all(name in widening.integers for widening, _ in parts):
        return pl.Series(name, _integers(name, parts))
    if all(name in widening.texts for widening, _ in parts):
        return _texts(name, parts)
    if len(parts) == 1:
        return parts[0][1][name]
    return pl.concat([_column(name, [part]) for part in parts], rechunk=True)


def _integers(name: str, parts: Sequence[Part]) -> NDArray[np.int64]:
    found, begin = np.empty(sum(widening.rows for widening, _ in parts), np.int64), 0
    for widening, narrow in parts:
        own, distances = found[begin : begin + widening.rows], widening.integers[name]
        if distances.of is None:
            own[:] = distances.origin
        else:
            np.add(narrow[distances.of].to_numpy(), np.int64(distances.origin), out=own)
        begin += widening.rows
    return found


def _texts(name: str, parts: Sequence[Part]) -> pl.Series:
    texts, places = list[str | None](), list[pl.Series]()
    for widening, narrow in parts:
        places.append(narrow[name].cast(pl.UInt32) + len(texts))
        texts += widening.texts[name]
    return pl.Series(name, texts, dtype=pl.String)[pl.concat(places, rechunk=True)]


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
