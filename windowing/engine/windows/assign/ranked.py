"""Assignment to windows of rows in event-time order: a record's number is not known to its lane.

Rows are numbered over all lanes, in canonical order, once the stream's progress has passed them. So
a lane sends them one by one, each with its time; what is late gets no number at all.

Source: Li et al., SIGMOD 2005, section 4.3; the order by event time is ours.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from windowing.engine.wids import Flags, Ints
from windowing.engine.windows.assign.sliding import SlidingAssigner, Span
from windowing.engine.windows.part import Scan, Tables

ROWS = "rows"


class RankedAssigner(SlidingAssigner):
    """Sends records as rows that wait for their number.

    A row is the partial state of one record with its key and `at`, its event time.

    Args:
        query: with windows of rows, ORDER event_time.
        pipeline: its pipeline.
    """

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        """Every record on time is taken, in one window or another."""
        taken, at = scan.progress_us <= scan.values, scan.values
        return np.zeros(len(taken), dtype=bool), [Span(taken, at, at, at)]

    def _tables(self, scan: Scan, spans: Sequence[Span]) -> Tables:
        records = scan.data.filter(pl.Series(spans[0].chosen))
        at = pl.Series("at", scan.values[spans[0].chosen])
        keys = [records[key] for key in self._keys]
        return {ROWS: pl.DataFrame([*keys, at, *self._accumulators.lift(records)])}

    def _due_us(self, table: pl.DataFrame) -> Ints:
        due: Ints = table["at"].to_numpy()
        return due
