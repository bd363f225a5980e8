"""Sessions: lanes find chains of records; shards build sessions from them.

A lane cannot know a session, which includes records of other lanes. It knows chains: records of one
key, less than the gap apart, that join at the same time, share a session forever. A chain of a
chunk is one partial state, a piece.

In the shard, all pieces of a key that may ever touch each other, including waiting ones, are one
chain. What a chain sends between P and P' is recomputed from its pieces (ADR 8); a chain is dropped
as a whole, once no record that a lane still accepts can reach it.

Source: SAMZA-552, "Session window: dynamic window"; lateness by lane is ours (ADR 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from windowing.engine import wids
from windowing.engine.aggregates import Accumulators
from windowing.engine.columns import (
    ABSORBED_BY,
    AFTER,
    AT_FIRST,
    AT_LAST,
    BEFORE,
    CHAIN,
    GAP,
    KEY,
    OFFSETS,
    OVERFLOW,
    PARTITION,
    RECORDS,
    RELEASE,
    RETRACTS,
    REVISION,
    VALUES,
    WINDOW_ID,
)
from windowing.engine.progress.reached import Progress, stamped
from windowing.engine.wids import ENDED, ON_TIME, Flags, Ints
from windowing.engine.windows.chains import (
    SPAN,
    Piece,
    SessionRow,
    chained,
    course,
    end,
    later,
    with_gap,
)
from windowing.engine.windows.part import Scan, Tables, key_columns
from windowing.engine.windows.results import Results
from windowing.engine.windows.sliding_lane import SlidingLanePart, Span
from windowing.model import Pipeline, Query
from windowing.model.lengths import INT64_MAX, INT64_MIN

PIECES = "pieces"
_SHOWN: Mapping[str, pl.DataType | type[pl.DataType]] = {
    WINDOW_ID: pl.Int64,
    AT_LAST: pl.Int64,
    REVISION: pl.Int64,
    RETRACTS: pl.Boolean,
    ABSORBED_BY: pl.Int64,
    "number": pl.List(pl.UInt32),
    "of": pl.UInt32,
}


class SessionLanePart(SlidingLanePart):
    """The lane's part: the chains of a chunk.

    A piece has the key's columns, `at_first` and `at_last` (the values of its first and last
    record), `release` (the late epoch that it waits for, or ON_TIME) and a partial state.
    """

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        """Return the spans: all are in sessions; records that progress has passed are late."""
        query, at = self._query, scan.values
        late = scan.progress_us > at
        spans = [Span(~late, at, at, np.full(len(at), ON_TIME))]
        if query.late.policy == "update":
            assert query.retention_us is not None  # noqa: S101 - `update` has both, as checked
            assert query.late.every_us is not None  # noqa: S101
            gaps = with_gap(query, scan.data)[GAP].to_numpy()
            # Taken iff progress < at + gap + retention, without a sum that exceeds 64 bits.
            kept = wids.lowered(scan.progress_us, min(query.retention_us, INT64_MAX))
            since = np.where(kept < INT64_MIN + gaps, INT64_MIN, kept - gaps)
            release = wids.release_us(scan.progress_us, query.late.every_us)
            spans.append(Span(late & (since < at), at, at, release))
        return np.zeros(len(at), dtype=bool), spans

    def _tables(self, scan: Scan, spans: Sequence[Span]) -> Tables:
        parts = []
        for span in spans:
            records = scan.data.filter(pl.Series(span.chosen))
            at = scan.values[span.chosen]
            parts.append(
                pl.DataFrame(
                    [
                        *(records[key] for key in self._keys),
                        pl.Series(AT_FIRST, at),
                        pl.Series(AT_LAST, at),
                        pl.Series(RELEASE, span.release[span.chosen]),
                        *self._accumulators.lift(records),
                    ]
                )
            )
        pieces = with_gap(self._query, self._accumulators.concat(parts))
        named = [*self._keys, RELEASE, CHAIN]
        pieces = chained(pieces, [*self._keys, RELEASE])
        return {PIECES: self._accumulators.merge(pieces, named, SPAN).drop(CHAIN)}

    def due_us(self, table: pl.DataFrame) -> Ints:
        """Return the end of a session of each piece alone, or the epoch that it waits for."""
        ends = with_gap(self._query, table).select(due=end())["due"].to_numpy()
        due: Ints = np.where(table[RELEASE] == ON_TIME, ends, table[RELEASE].to_numpy())
        return due


class SessionShardPart:
    """The rows of one query with sessions.

    Besides the usual columns, rows have `at_last` and `gap`, whose sum is the session's end, and
    `absorbed_by`, set only in tombstones.
    """

    def __init__(self, query: Query, pipeline: Pipeline) -> None:
        self._query, self._keys = query, key_columns(query)
        self._accumulators = Accumulators.of(query, pipeline.source)
        self._results = Results(query, self._accumulators)

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return the rows due while progress moves."""
        pieces = stamped(self._chained(tables), before=before, after=after)
        earliest, latest = end().min().over(CHAIN), pl.max_horizontal(end(), RELEASE)
        moving = (earliest <= pl.col(AFTER)) & (latest.max().over(CHAIN) > pl.col(BEFORE))
        pieces = pieces.filter(moving).with_row_index("number")
        with_late = (pl.col(RELEASE) != ON_TIME).any().over(CHAIN)
        revised = pieces.filter(with_late)
        shown = pl.DataFrame(list(self._shown(revised)), schema=_SHOWN, orient="row")
        once = self._shown_once(pieces.filter(~with_late))
        if not len(shown) and not len(once):
            return pl.DataFrame()
        gone = shown.filter(pl.col(ABSORBED_BY).is_not_null())
        there = shown.filter(pl.col(ABSORBED_BY).is_null()).drop("of")
        named = [WINDOW_ID, AT_LAST, REVISION, RETRACTS, ABSORBED_BY]
        parts = there.explode("number").join(self._parts(revised), on="number").drop("number")
        parts = pl.concat([parts, once.select(parts.columns)])
        rows = self._rows_of(parts, AT_LAST, GAP, RETRACTS, ABSORBED_BY)
        return pl.concat([rows, self._tombstones(gone.select(*named, "of"), pieces, rows)])

    def open(self, tables: Tables, after: Progress) -> pl.DataFrame:
        """Return the open sessions as rows, without waiting records."""
        pieces = stamped(with_gap(self._query, tables[PIECES]), after=after)
        joined = chained(pieces.filter(pl.col(RELEASE) <= pl.col(AFTER)), self._keys)
        still = joined.filter(end().max().over(CHAIN) > pl.col(AFTER))
        parts = still.with_columns(
            pl.col(AT_FIRST).min().over(CHAIN).alias(WINDOW_ID),
            pl.col(AT_LAST).max().over(CHAIN),
            pl.lit(0, dtype=pl.Int64).alias(REVISION),
        )
        return self._rows_of(parts.drop(AT_FIRST, CHAIN, RELEASE, AFTER), AT_LAST, GAP)

    def moved(self, tables: Tables, after: Progress, shown: pl.DataFrame) -> pl.DataFrame:
        """Return tombstones of open sessions whose start has moved since early rows showed them.

        If another row has shown it since, its tombstone is among those rows.

        Args:
            shown: the early rows' key columns, `window_id`, `at_last`, and `number`, the revision.
        """
        pieces = stamped(self._chained(tables), after=after).with_row_index("number")
        starts = self._sessions(pieces).rename({WINDOW_ID: ABSORBED_BY})
        shown = shown.rename({"number": REVISION})
        if self._keys:
            inside = shown.join(starts, on=self._keys, nulls_equal=True)
        else:
            inside = shown.join(starts, how="cross")
        inside = inside.filter(
            pl.col(ABSORBED_BY) < pl.col(WINDOW_ID), pl.col(WINDOW_ID) <= pl.col("until")
        )
        provisional = [
            not self._was_sent(pieces, of, start)
            for of, start in inside.select("of", WINDOW_ID).rows()
        ]
        gone = inside.filter(pl.Series(provisional, dtype=pl.Boolean))
        if not len(gone):
            return pl.DataFrame()
        gone = gone.with_columns(pl.col(REVISION) + 1).drop(*self._keys, GAP)
        return self._tombstones(gone, pieces, self.open(tables, after))

    def sessions(self, tables: Tables, after: Progress) -> pl.DataFrame:
        """Return the sessions in the state, open or not: the key's columns, `window_id`."""
        pieces = stamped(self._chained(tables), after=after).with_row_index("number")
        return self._sessions(pieces).select(*self._keys, WINDOW_ID)

    def _sessions(self, pieces: pl.DataFrame) -> pl.DataFrame:
        there = chained(pieces.filter(pl.col(RELEASE) <= pl.col(AFTER)), self._keys)
        return there.select(
            *self._keys,
            GAP,
            pl.col("number").alias("of"),
            pl.col(AT_FIRST).min().over(CHAIN).alias(WINDOW_ID),
            pl.col(AT_LAST).max().over(CHAIN).alias("until"),
        ).unique([*self._keys, WINDOW_ID])

    def _was_sent(self, pieces: pl.DataFrame, of: int, start: int) -> bool:
        """Return whether a row, not a tombstone, showed a start; `of` is a piece of its chain."""
        chain = pieces.filter(pl.col(CHAIN) == pieces[CHAIN][of])
        gap, after = chain[GAP][0], chain[AFTER][0]
        own = [Piece(*row) for row in chain.select(AT_FIRST, AT_LAST, RELEASE, "number").rows()]
        return any(
            sent.start == start and sent.absorbed_by is None for sent in course(own, gap, after)
        )

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """Return a lower bound of the next progress at which a row is due."""
        pieces = stamped(with_gap(self._query, tables[PIECES]), after=after)
        due = [
            pieces.select(due=instant.filter(instant > pl.col(AFTER)).min())["due"][0]
            for instant in (end(), pl.col(RELEASE))
        ]
        return min((int(instant) for instant in due if instant is not None), default=ENDED)

    def due_us(self, name: str, table: pl.DataFrame) -> Ints:
        """Return the first value of each piece.

        A session with a piece ends a gap after its last record, so behind the first of that piece;
        one that this piece only touches ends behind it, too. A late piece begins where progress has
        been.
        """
        del name
        return table[AT_FIRST].to_numpy()

    def retained(self, tables: Tables, after: Progress) -> Tables:
        """Return what rows after this progress can still need, merged where equal."""
        pieces = stamped(self._chained(tables), after=after)
        until = end()
        if self._query.late.policy == "update":
            # A late record may be up to a gap after the end, and come a retention after its own
            # end.
            retention = pl.lit(self._query.retention_us or 0, dtype=pl.Int64)
            until = later(later(until, pl.col(GAP)), retention)
        needed = pl.max_horizontal(until, RELEASE).max().over(CHAIN) > pl.col(AFTER)
        kept = chained(pieces.filter(needed), [*self._keys, RELEASE, PARTITION])
        named = [*self._keys, RELEASE, PARTITION, CHAIN]
        return {PIECES: self._accumulators.merge(kept, named, SPAN).drop(CHAIN)}

    def _chained(self, tables: Tables) -> pl.DataFrame:
        return chained(with_gap(self._query, tables[PIECES]), self._keys)

    def _shown_once(self, chains: pl.DataFrame) -> pl.DataFrame:
        """Return the parts of sessions that end while progress moves, from chains on time.

        Such a chain is one session, whose only row is revision 0.
        """
        ends = end().max().over(CHAIN)
        due = chains.filter((pl.col(BEFORE) < ends) & (ends <= pl.col(AFTER)))
        return due.with_columns(
            pl.col(AT_FIRST).min().over(CHAIN).alias(WINDOW_ID),
            pl.col(AT_LAST).max().over(CHAIN),
            pl.lit(0, dtype=pl.Int64).alias(REVISION),
            pl.lit(value=False).alias(RETRACTS),
            pl.lit(None, dtype=pl.Int64).alias(ABSORBED_BY),
        )

    def _parts(self, pieces: pl.DataFrame) -> pl.DataFrame:
        return pieces.drop(AT_FIRST, AT_LAST, RELEASE, CHAIN, BEFORE, AFTER)

    def _shown(self, pieces: pl.DataFrame) -> Iterator[tuple[object, ...]]:
        """Return what is sent, in the columns of `_SHOWN`; `of` is a piece of the same key."""
        named = pieces.select(CHAIN, GAP, BEFORE, AFTER, AT_FIRST, AT_LAST, RELEASE, "number")
        for _, chain in named.group_by(CHAIN, maintain_order=True):
            gap, before, after = (chain[name][0] for name in (GAP, BEFORE, AFTER))
            own = [Piece(*row) for row in chain.select(AT_FIRST, AT_LAST, RELEASE, "number").rows()]
            for sent in course(own, gap, after):
                if sent.instant > before:
                    yield from self._as_rows(sent, own[0].number)

    def _as_rows(self, sent: SessionRow, of: int) -> Iterator[tuple[object, ...]]:
        """Yield one row of a session, preceded by the retraction of its previous row, if any."""
        before = sent.before
        if before is not None and self._query.accumulation == "retracting":
            again = (before.start, before.last, before.revision, True, None)
            yield (*again, sorted(before.holds), of)
        holds = sent.holds
        if before is not None and self._query.accumulation == "discarding":
            holds = holds - before.holds
        row = (sent.start, sent.last, sent.revision, False, sent.absorbed_by)
        yield (*row, sorted(holds), of)

    def _rows_of(self, parts: pl.DataFrame, *more: str) -> pl.DataFrame:
        named = [*self._keys, WINDOW_ID, REVISION, *more, PARTITION]
        return self._results.of(self._accumulators.merge(parts, named), *more)

    def _tombstones(
        self, gone: pl.DataFrame, pieces: pl.DataFrame, rows: pl.DataFrame
    ) -> pl.DataFrame:
        """Return empty rows, in the columns of other rows, with `absorbed_by`."""
        keys = pieces.select(pl.col("number").alias("of"), GAP, *self._keys)
        stones = gone.join(keys, on="of").with_columns(
            pl.lit(0, dtype=pl.Int64).alias(RECORDS),
            pl.lit([], dtype=rows.schema[OFFSETS]).alias(OFFSETS),
            pl.lit(None, dtype=rows.schema[VALUES]).alias(VALUES),
            pl.lit(None, dtype=rows.schema[OVERFLOW]).alias(OVERFLOW),
        )
        if self._keys:
            stones = stones.with_columns(self._results.key_of(stones).alias(KEY))
        return stones.select(*dict.fromkeys([*rows.columns, ABSORBED_BY]))
