"""Windows over rows: numbered by their lane, or in event-time order by the shard.

A row numbered by its lane is a record with its number as attribute, in windows that follow from
values. In event-time order the lane does not know the number: rows are numbered over all lanes, in
canonical order, once the stream's progress has passed them. So a lane sends them one by one, each
with its time; late rows get no number. A row waits in the shard until progress has passed its time;
then its rank is final, and is its number. From then on it is like a row numbered by its lane:
windows close by the count of numbered rows of the unit.

Source: Li et al., SIGMOD 2005, section 4.3; the order by event time is ours.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from windowing.engine import wids
from windowing.engine.aggregates import StateSchema
from windowing.engine.columns import (
    AT,
    FIRST_OFFSET,
    FIRST_WINDOW,
    KEY_BOUND,
    LAST_WINDOW,
    PARTITION,
    RECORDS,
    RELEASE,
)
from windowing.engine.progress.reached import Progress, RowProgress, looked_up, per_row
from windowing.engine.wids import ENDED, ON_TIME, Flags, Ints
from windowing.engine.windows.part import Scan, Tables, key_columns, unit_columns
from windowing.engine.windows.sliding import LandmarkShardPart, SlidingShardPart
from windowing.engine.windows.sliding_lane import PARTIALS, SlidingLanePart, Span
from windowing.model import Pipeline, Query
from windowing.model.windows.window import Window

ROWS = "rows"
COUNTS = "counts"


class RankedLanePart(SlidingLanePart):
    """The lane's part: records as rows without a number yet.

    A row is the partial state of one record, with its key and `at`, its event time.
    """

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        taken, at = scan.progress_us <= scan.values, scan.values
        return np.zeros(len(taken), dtype=bool), [Span(taken, at, at, at)]

    def _tables(self, scan: Scan, spans: Sequence[Span]) -> Tables:
        records = scan.data.filter(pl.Series(spans[0].chosen))
        at = pl.Series(AT, scan.values[spans[0].chosen])
        keys = [records[key] for key in self._keys]
        return {ROWS: pl.DataFrame([*keys, at, *self._accumulators.lift(records)])}

    def due_us(self, table: pl.DataFrame) -> Ints:
        """Return the event time of each record."""
        due: Ints = table[AT].to_numpy()
        return due


class RankedShardPart:
    """The rows of one query with windows of rows in event-time order.

    Its tables are waiting rows, partial states of numbered rows, and their count per unit.
    """

    def __init__(self, query: Query, pipeline: Pipeline) -> None:
        self._window, self._schema = query.window, StateSchema.of(query, pipeline.source)
        self._keys, self._unit = key_columns(query), unit_columns(query)
        self._numbered = numbered_part(query.window)(query, pipeline)

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return the rows due while progress moves."""
        inner = {PARTIALS: self._partials(tables, after)}
        counted = [self._counted(tables, progress) for progress in (before, after)]
        return self._numbered.rows(inner, *counted)

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """Return the next progress at which a row gets its number."""
        rows = tables[ROWS]
        waiting = rows.filter(pl.col(AT) >= per_row(after.of(rows)))
        at = waiting[AT].to_numpy()
        return min(int(at.min(initial=ENDED)), ENDED - 1) + 1

    def retained(self, tables: Tables, after: Progress) -> Tables:
        """Return what rows after this progress can still need; numbered rows are merged."""
        rows, counted = tables[ROWS], self._counted(tables, after)
        waiting = rows.filter(pl.col(AT) >= per_row(after.of(rows)))
        kept = {
            ROWS: waiting.sort(*self._unit, AT, PARTITION, FIRST_OFFSET),
            COUNTS: self._counts(tables, after).sort(self._unit),
        }
        partials = self._partials(tables, after)
        return kept | dict(self._numbered.retained({PARTIALS: partials}, counted))

    def _passed(self, tables: Tables, progress: Progress) -> pl.DataFrame:
        rows = tables[ROWS]
        return rows.filter(pl.col(AT) < per_row(progress.of(rows)))

    def _counts(self, tables: Tables, progress: Progress) -> pl.DataFrame:
        """Return how many rows have a number, per unit, as `bound`."""
        rows = self._passed(tables, progress).select(*self._unit, pl.col(RECORDS).alias(KEY_BOUND))
        counts = pl.concat([rows, tables[COUNTS]]) if COUNTS in tables else rows
        if not self._unit:
            return counts.select(pl.col(KEY_BOUND).sum())
        return counts.group_by(self._unit).agg(pl.col(KEY_BOUND).sum())

    def _counted(self, tables: Tables, progress: Progress) -> RowProgress:
        counts, ended = self._counts(tables, progress), progress.highest == ENDED
        if self._unit:
            return RowProgress(counts, 0, ended)
        return RowProgress(None, int(counts[KEY_BOUND].sum()), ended)

    def _partials(self, tables: Tables, after: Progress) -> pl.DataFrame:
        """Return the partial states of all numbered rows, with those of earlier batches merged."""
        rows = self._passed(tables, after).sort(*self._unit, AT, PARTITION, FIRST_OFFSET)
        rank = pl.int_range(pl.len(), dtype=pl.Int64)
        grid = wids.grid(self._window)
        number = rows.select(number=rank.over(self._unit) if self._unit else rank)["number"]
        numbers = number.to_numpy() + self._numbered_before(tables, rows)
        partials = rows.drop(AT).with_columns(
            pl.Series(grid.first(numbers)).alias(FIRST_WINDOW),
            pl.Series(grid.last(numbers)).alias(LAST_WINDOW),
            pl.lit(ON_TIME, dtype=pl.Int64).alias(RELEASE),
        )
        partials = partials.filter(pl.col(FIRST_WINDOW) <= pl.col(LAST_WINDOW))
        held = [tables[PARTIALS]] if PARTIALS in tables else []
        return self._schema.concat([*held, partials])

    def _numbered_before(self, tables: Tables, rows: pl.DataFrame) -> Ints:
        """Return how many rows of each row's unit were numbered and merged in earlier batches."""
        if COUNTS not in tables:
            return np.array([0])
        if not self._unit:
            return tables[COUNTS][KEY_BOUND].to_numpy()
        return looked_up(rows, tables[COUNTS], KEY_BOUND, 0)


def numbered_part(window: Window) -> type[SlidingShardPart]:
    """Return the shard part's class for numbered rows: that for any other value."""
    return LandmarkShardPart if window.traits.cumulative else SlidingShardPart
