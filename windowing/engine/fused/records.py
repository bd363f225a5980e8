"""The single records of a chunk, in two bytes for each.

A shard looks at them only where the past decides their fate, but has no other way to them than the
message. Offsets and progress rise in small steps, records are near the progress that they meet, and
times are often whole milliseconds: distances, in the largest unit that measures them all, need
fewer bytes than numbers.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from windowing.engine.columns import AT, BEFORE, OFFSET
from windowing.engine.storage.frames import from_bytes, to_bytes
from windowing.engine.wids import NOTHING_YET, Ints

Words = NDArray[np.uint64]

_RISING: Final = (OFFSET, BEFORE)
_UNITS: Final = (1_000_000, 1_000)


class Measure(msgspec.Struct, array_like=True):
    """How a column's numbers follow from distances.

    Attributes:
        origin: is added to all of them.
        unit: that the distances are counted in.
        beyond: whether they are measured from the progress, and not from zero.
    """

    origin: int
    unit: int
    beyond: bool = False


class Records(msgspec.Struct, array_like=True):
    """What decides about the single records of a chunk.

    Attributes:
        shown: the name of the column that dead letters show.
        unknown: how many records come before any progress.
        measures: by column.
        distances: by column, modulo 2^64; of what rises, from the number before; a frame as bytes.
    """

    shown: str
    unknown: int
    measures: dict[str, Measure]
    distances: bytes

    @classmethod
    def of(cls, records: pl.DataFrame, shown: str) -> Records:
        """Return the records of a chunk.

        Args:
            records: in the order of offsets: `offset`, `at` (the attribute), `before` (the progress
                by the chunk alone, which rises), and the column `shown`; all are integers.
            shown: the name of the column that dead letters show.
        """
        if records[shown].equals(records[AT], check_dtypes=True):
            records = records.drop(AT)
        before = records[BEFORE].to_numpy()
        unknown = int(np.searchsorted(before, NOTHING_YET, side="right"))
        progress = _known(before, unknown)
        measures, columns = dict[str, Measure](), list[pl.Series]()
        for column in records:
            values = progress if column.name == BEFORE else column.to_numpy()
            measures[column.name], found = _measured(column.name, values, progress)
            columns.append(pl.Series(column.name, _in_fewest_bytes(found)))
        return cls(shown, unknown, measures, to_bytes(pl.DataFrame(columns)))

    def read(self) -> pl.DataFrame:
        """Return the columns that `of` was given."""
        distances = from_bytes(self.distances)
        progress = self._values(distances[BEFORE], None)
        before = progress.copy()
        before[: self.unknown] = NOTHING_YET
        columns = [
            pl.Series(column.name, self._values(column, progress))
            for column in distances
            if column.name != BEFORE
        ]
        records = pl.DataFrame([*columns, pl.Series(BEFORE, before)])
        return records if AT in records else records.with_columns(pl.col(self.shown).alias(AT))

    def _values(self, distances: pl.Series, progress: Ints | None) -> Ints:
        measure = self.measures[distances.name]
        far = distances.to_numpy().astype(np.uint64) * np.uint64(measure.unit)
        if distances.name in _RISING:
            far = np.cumsum(far)
        found = far.view(np.int64) + np.int64(measure.origin)
        return found + progress if progress is not None and measure.beyond else found


def _in_fewest_bytes(values: NDArray[Any]) -> NDArray[np.unsignedinteger[Any]]:
    """Return integers, none of them negative, in as few bytes each as all of them need."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def _known(before: Ints, unknown: int) -> Ints:
    """Return progress as if the first that is known had been there from the beginning."""
    first = before[unknown] if unknown < len(before) else np.int64(0)
    return np.maximum(before, first)


def _measured(name: str, values: Ints, progress: Ints) -> tuple[Measure, Words]:
    """Return how a column is measured, and the distances."""
    if not len(values):
        return Measure(0, 1), values.view(np.uint64)
    if name in _RISING:
        origin = int(values[0])
        return _in_units(Measure(origin, 1), np.diff(values, prepend=values[0]).view(np.uint64))
    beyond = values - progress
    near = _in_units(Measure(int(beyond.min()), 1, beyond=True), _from_least(beyond))
    return min(near, _in_units(Measure(int(values.min()), 1), _from_least(values)), key=_most)


def _from_least(values: Ints) -> Words:
    distances: Words = (values - values.min()).view(np.uint64)
    return distances


def _most(measured: tuple[Measure, Words]) -> int:
    return int(measured[1].max(initial=0))


def _in_units(measure: Measure, distances: Words) -> tuple[Measure, Words]:
    """Return the same in the largest unit that measures every distance."""
    for unit in map(np.uint64, _UNITS):
        counted = distances // unit
        if (counted * unit == distances).all():
            return msgspec.structs.replace(measure, unit=int(unit)), counted
    return measure, distances
