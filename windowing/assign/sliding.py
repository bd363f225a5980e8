"""Assignment by value: the windows of a record follow from its windowing attribute.

A partial state counts in the windows `w_first` to `w_last`, from its `release` on if it is late.
Records of one slice have the same first and last window, so the pair names the slice; a record that
is late for its first windows gets a later `w_first` and so a partial state of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from windowing import wids
from windowing.aggregates import Accumulators
from windowing.assign.assigner import Assigned, Scan, Tables, dead_letters
from windowing.frames import to_bytes
from windowing.pack import column
from windowing.parcel import Addition, Parcel, shard_of
from windowing.spec import Pipeline, Query
from windowing.wids import ON_TIME, Flags, Ints

PARTIALS = "partials"


class SlidingAssigner:
    """Finds the windows of a chunk's records for one query, and pre-aggregates by slice.

    Args:
        query: with a sliding window.
        pipeline: its pipeline.
    """

    def __init__(self, query: Query, pipeline: Pipeline) -> None:
        self._query, self._shards = query, pipeline.shards
        self._accumulators = Accumulators.of(query, pipeline.source)
        self._keys = list(dict.fromkeys(column(name) for name in query.key))

    def assign(self, scan: Scan, memory: bytes | None) -> Assigned:
        """Split the records into on-time, late, and refused."""
        del memory  # a record's windows depend on the record alone
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
        dead = dead_letters(query, data, refused, scan.partition)
        return Assigned(
            tables={PARTIALS: self._merge(parts)},
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

    def post(self, tables: Tables, parcels: Sequence[Parcel]) -> None:
        """Put each shard's partial states into its parcel."""
        partials = tables[PARTIALS]
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
        due_us = int(partials["due"].to_numpy().min())
        tables = {PARTIALS: to_bytes(partials.drop("due"))}
        parcel.queries[self._query.name] = Addition(due_us, tables)

    def _due_us(self, partials: pl.DataFrame) -> Ints:
        ends = wids.end_us(self._query.window, partials["w_first"].to_numpy())
        due: Ints = np.maximum(ends, partials["release"].to_numpy())
        return due
