"""Assignment to sessions: which records join, and when; bounds are the shard's affair.

A lane cannot know a session, as records of other lanes are in it. It knows chains: records of one
key, nearer to each other than the gap, that join at the same time, are in one session for ever. A
chain of a chunk is one partial state.

Source: SAMZA-552, "Session window: dynamic window"; lateness by lane is ours (ADR 1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from windowing.engine import wids
from windowing.engine.wids import ON_TIME, Flags, Ints
from windowing.engine.windows.assign.sliding import SlidingAssigner, Span
from windowing.engine.windows.chains import (
    CHAIN,
    FIRST,
    GAP,
    LAST,
    chained,
    end,
    merged_ends,
    with_gap,
)
from windowing.engine.windows.part import Scan, Tables
from windowing.model.lengths import INT64_MAX, INT64_MIN

PIECES = "pieces"


class SessionAssigner(SlidingAssigner):
    """Gives the chains of a chunk.

    A piece has the key's columns, `at_first` and `at_last` (the values of its first and last
    record), `release` (the late epoch that it waits for, or ON_TIME) and a partial state.

    Args:
        query: with sessions.
        pipeline: its pipeline.
    """

    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        """Every record is in a session; those that progress has passed are late."""
        query, at = self._query, scan.values
        late = scan.progress_us > at
        spans = [Span(~late, at, at, np.full(len(at), ON_TIME))]
        if query.late.policy == "update":
            assert query.retention_us is not None  # noqa: S101 - `update` was checked to have both
            assert query.late.every_us is not None  # noqa: S101
            gaps = with_gap(query, scan.data)[GAP].to_numpy()
            # Taken iff progress < at + gap + retention, with no sum that leaves 64 bits.
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
                        pl.Series(FIRST, at),
                        pl.Series(LAST, at),
                        pl.Series("release", span.release[span.chosen]),
                        *self._accumulators.lift(records),
                    ]
                )
            )
        pieces = with_gap(self._query, self._accumulators.concat(parts))
        named = [*self._keys, "release", CHAIN]
        pieces = chained(pieces, [*self._keys, "release"])
        among = [GAP, FIRST, LAST]
        return {
            PIECES: self._accumulators.merge(pieces, named, *merged_ends(), among=among).drop(CHAIN)
        }

    def _due_us(self, table: pl.DataFrame) -> Ints:
        ends = with_gap(self._query, table).select(due=end())["due"].to_numpy()
        due: Ints = np.where(table["release"] == ON_TIME, ends, table["release"].to_numpy())
        return due
