"""Assignment: which windows take each record of a chunk, and the partial states of its slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from windowing import wids
from windowing.aggregates import Accumulators
from windowing.frames import to_bytes
from windowing.pack import column
from windowing.parcel import DEAD_LETTER_SCHEMA, Parcel, shard_of
from windowing.spec import Pipeline, Query
from windowing.wids import ON_TIME, Ints

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Scan:
    """A chunk with what its lane knows of each record: the progress before it.

    Attributes:
        partition: the lane's partition.
        data: the data records before the lane's end.
        progress_us: the lane's progress before each of them.
        dead: dead letters of values that no query can use.
        after_us: the lane's progress after the chunk.
    """

    partition: int
    data: pl.DataFrame
    progress_us: Ints
    dead: pl.DataFrame
    after_us: int


@dataclass(frozen=True)
class Assigned:
    """What became of one chunk's data records for one query.

    Attributes:
        partials: merged partial states by key, `w_first`, `w_last` and `release`.
        dead: dead letters of records that no window took.
        applied, outside, dropped: how many records; with the dead ones, each counts once.
    """

    partials: pl.DataFrame
    dead: pl.DataFrame
    applied: int
    outside: int
    dropped: int


class Assigner:
    """Finds the windows of a chunk's records for one query, and pre-aggregates by slice.

    Records of one slice have the same first and last window, so the pair names the slice; a record
    that is late for its first windows gets a later `w_first` and so a partial state of its own.
    """

    def __init__(self, query: Query, pipeline: Pipeline) -> None:
        self._query, self._shards = query, pipeline.shards
        self._accumulators = Accumulators.of(query, pipeline.source)
        self._keys = [column(field) for field in query.group_by]

    def assign(self, scan: Scan) -> Assigned:
        """Split the records into on-time, late, and refused."""
        query, data = self._query, scan.data
        ts_us = data["ts_us"].to_numpy()
        first = wids.slide_of(query.window, ts_us)
        last = wids.last_window(query.window, ts_us)
        outside = (ts_us < query.window.origin) | (last < first)
        open_from = wids.slide_of(query.window, scan.progress_us)
        late = ~outside & (open_from > first)
        if query.late.mode == "consistent":
            accepts_from = np.where(late, last + 1, first)
        else:
            accepts_from = np.maximum(first, open_from)
        taken = ~outside & (accepts_from <= last)
        on_time = np.full(len(data), ON_TIME, dtype=np.int64)
        parts = [self._part(data, taken, accepts_from, last, on_time)]
        if query.late.policy == "update":
            last_late = np.minimum(last, accepts_from - 1)
            waits, first_late, release = self._waiting(scan.progress_us, first, last_late)
            waits &= late
            parts.append(self._part(data, waits, first_late, last_late, release))
            taken = taken | waits
        refused = ~outside & ~taken
        dead = self._dead_letters(data, refused, scan.partition)
        return Assigned(
            partials=self._merge(parts),
            dead=dead,
            applied=int(taken.sum()),
            outside=int(outside.sum()),
            dropped=int(refused.sum()) - len(dead),
        )

    def _waiting(self, progress_us: Ints, first: Ints, last_late: Ints) -> tuple[Flags, Ints, Ints]:
        """Which records wait for a late epoch, from which window on, and the epoch's instant."""
        query = self._query
        assert query.retention_us is not None  # noqa: S101 - `update` was checked to have both
        assert query.late.every_us is not None  # noqa: S101
        kept_from = wids.slide_of(query.window, wids.lowered(progress_us, query.retention_us))
        first_late = np.maximum(first, kept_from)
        release = wids.release_us(progress_us, query.late.every_us)
        return first_late <= last_late, first_late, release

    def _part(
        self, data: pl.DataFrame, chosen: Flags, first: Ints, last: Ints, release: Ints
    ) -> pl.DataFrame:
        records = data.filter(pl.Series(chosen))
        return pl.DataFrame(
            [
                *(records[key] for key in self._keys),
                pl.Series("w_first", first[chosen]),
                pl.Series("w_last", last[chosen]),
                pl.Series("release", release[chosen]),
                *self._accumulators.lift(records),
            ]
        )

    def _merge(self, parts: list[pl.DataFrame]) -> pl.DataFrame:
        named = [*self._keys, "w_first", "w_last", "release"]
        return self._accumulators.merge(self._accumulators.concat(parts), named)

    def _dead_letters(self, data: pl.DataFrame, refused: Flags, partition: int) -> pl.DataFrame:
        policy = self._query.late.policy
        if policy == "drop":
            return pl.DataFrame(schema=DEAD_LETTER_SCHEMA)
        reason = "late" if policy == "dead_letter" else "out_of_retention"
        return data.filter(pl.Series(refused)).select(
            partition=pl.lit(partition, dtype=pl.Int32),
            offset="offset",
            query=pl.lit(self._query.name),
            reason=pl.lit(reason),
        )

    def post(self, partials: pl.DataFrame, parcels: Sequence[Parcel]) -> None:
        """Put each shard's partial states into its parcel."""
        if not len(partials):
            return
        partials = partials.with_columns(due=pl.Series(self._due_us(partials)))
        if not self._keys:
            self._post_one(partials, parcels[0])
            return
        shard = shard_of(partials.select(self._keys), self._shards)
        for (number,), part in partials.group_by(shard):
            self._post_one(part, parcels[int(number)])

    def _post_one(self, partials: pl.DataFrame, parcel: Parcel) -> None:
        due = int(partials["due"].to_numpy().min())
        parcel.due_us = due if parcel.due_us is None else min(parcel.due_us, due)
        parcel.partials[self._query.name] = to_bytes(partials.drop("due"))

    def _due_us(self, partials: pl.DataFrame) -> Ints:
        ends = wids.end_us(self._query.window, partials["w_first"].to_numpy())
        due: Ints = np.maximum(ends, partials["release"].to_numpy())
        return due
