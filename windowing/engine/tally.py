"""What became of a lane's records in a batch, and their dead letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import polars as pl

from windowing.engine.columns import FATE
from windowing.engine.plan import Plan
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.storage.frames import to_bytes
from windowing.engine.storage.parcel import Parcel, metric_schema
from windowing.engine.wids import ENDED, NOTHING_YET, Ints
from windowing.engine.windows.part import Outcome
from windowing.model.fates import BY_WINDOWS, DEAD, READ, names


class Tally:
    """The counts of one lane and batch.

    Args:
        plan: says what can become of records, and which queries a family has.

    Attributes:
        redelivered: how many records the lane had already seen.
    """

    def __init__(self, partition: int, plan: Plan) -> None:
        self._partition, self._shares, self.redelivered = partition, plan.shares, 0
        fates = plan.pipeline.source.fates
        self._schema = metric_schema(fates)
        self._same = names(tuple(fate for fate in fates if fate not in BY_WINDOWS))
        self._read = self._bad = 0
        self._of_all = Counter[str]()
        self._first: int | None = None
        self._last: int | None = None
        self._counts: dict[str, Ints] = {}
        self._dead: list[pl.DataFrame] = []

    def take(self, offsets: pl.Series, records: int, bad: pl.DataFrame) -> None:
        """Count the rows of a chunk.

        Args:
            offsets: of all its rows, also control records.
            records: how many of them are data records before the lane's end.
            bad: the dead letters of those that no query can use.
        """
        if len(offsets):
            first, last = int(offsets.min()), int(offsets.max())  # type: ignore[arg-type]
            self._first = first if self._first is None else min(first, self._first)
            self._last = last if self._last is None else max(last, self._last)
        self._read += records
        self.refuse(bad)

    def withhold(self, withheld: pl.DataFrame) -> None:
        """Count records that no window sees, by the column `fate`."""
        self._read += len(withheld)
        self._of_all.update(withheld[FATE].to_list())

    def warn(self, warned: Mapping[str, int]) -> None:
        """Count records that break rules which only warn, and have another fate, too."""
        self._of_all.update(warned)

    def refuse(self, bad: pl.DataFrame) -> None:
        """Count records that no query can use."""
        self._read += len(bad)
        self._bad += len(bad)
        self._dead.append(bad)

    def judge(self, query: str, found: Outcome) -> None:
        """Count what became of a chunk's records in one query, or in those of a family."""
        before = self._counts.get(query)
        self._counts[query] = found.counts if before is None else before + found.counts
        self._dead.append(found.dead_letters)

    def into(self, parcel: Parcel, reached: LaneProgress) -> None:
        """Add dead letters and counts to a parcel.

        Args:
            parcel: the lane's to its home shard.
            reached: the lane's progress by event time after the batch.
        """
        dead = pl.concat(self._dead) if self._dead else pl.DataFrame()
        parcel.dead_letters = to_bytes(dead) if len(dead) else None
        progress_us = reached.progress_us
        of_all = {
            "partition": self._partition,
            READ: self._read,
            "redelivered": self.redelivered,
            "first_offset": self._first,
            "last_offset": self._last,
            "progress_us": None if progress_us == NOTHING_YET else progress_us,
            "ended": progress_us == ENDED,
            **{name: self._of_all[name] for name in self._same},
        }
        counts = self._by_query().with_columns(
            pl.col(DEAD.name) + self._bad,
            *(pl.lit(one, dtype=self._schema[name]).alias(name) for name, one in of_all.items()),
        )
        parcel.metrics = to_bytes(counts.select(*self._schema))

    def _by_query(self) -> pl.DataFrame:
        queries: list[str] = []
        parts = [np.zeros((0, len(BY_WINDOWS)), np.int64)]
        for flow, counts in self._counts.items():
            own, rows = self._shares.get(flow, ((flow,), np.zeros(1, np.int64)))
            queries += own
            # Nothing of a family came, so that it has one row for all.
            parts.append(counts[rows] if len(counts) > 1 else counts.repeat(len(own), axis=0))
        numbers = np.concatenate(parts)
        columns = {fate.name: numbers[:, place] for place, fate in enumerate(BY_WINDOWS)}
        return pl.DataFrame({"query": pl.Series(queries, dtype=pl.String), **columns})
