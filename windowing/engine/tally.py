"""What became of a lane's records in a batch, and their dead letters."""

from __future__ import annotations

import polars as pl

from windowing.engine.frames import to_bytes
from windowing.engine.parcel import METRIC_SCHEMA, Parcel
from windowing.engine.progress.reached import Reached
from windowing.engine.wids import ENDED, NOTHING_YET
from windowing.engine.windows.part import Judged


class Tally:
    """The counts of one lane and batch.

    Args:
        partition: the lane's.

    Attributes:
        redelivered: how many records the lane had already seen.
    """

    def __init__(self, partition: int) -> None:
        self._partition, self.redelivered = partition, 0
        self._read = self._bad = 0
        self._first: int | None = None
        self._last: int | None = None
        self._counts: dict[str, list[int]] = {}
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

    def refuse(self, bad: pl.DataFrame) -> None:
        """Count records that no query can use."""
        self._read += len(bad)
        self._bad += len(bad)
        self._dead.append(bad)

    def judge(self, query: str, found: Judged) -> None:
        """Count what became of a chunk's records in one query."""
        counts = self._counts.setdefault(query, [0, 0, 0, 0])
        for place, more in enumerate((found.applied, found.outside, found.dropped)):
            counts[place] += more
        counts[3] += len(found.dead)
        self._dead.append(found.dead)

    def into(self, parcel: Parcel, reached: Reached) -> None:
        """Add dead letters and counts to a parcel.

        Args:
            parcel: the lane's to its home shard.
            reached: the lane's progress by event time after the batch.
        """
        dead = pl.concat(self._dead) if self._dead else pl.DataFrame()
        parcel.dead_letters = to_bytes(dead) if len(dead) else None
        progress_us = reached.progress_us
        rows = [
            {
                "partition": self._partition,
                "query": query,
                "read": self._read,
                "applied": applied,
                "outside": outside,
                "dropped": dropped,
                "dead": self._bad + dead,
                "redelivered": self.redelivered,
                "first_offset": self._first,
                "last_offset": self._last,
                "progress_us": None if progress_us == NOTHING_YET else progress_us,
                "ended": progress_us == ENDED,
            }
            for query, (applied, outside, dropped, dead) in self._counts.items()
        ]
        parcel.metrics = to_bytes(pl.DataFrame(rows, schema=METRIC_SCHEMA))
