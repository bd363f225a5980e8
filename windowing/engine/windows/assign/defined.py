"""Assignment to windows that records define: slide-by-tuple, by n tuples, by n in rank order.

A record counts at all positions w with a <= w < a + R: an interval of windows that there may be,
known when the record comes. Which of them there are is another table, the definers. A late record
counts from its lane's progress on, as it may not enter windows that were closed there.

Source: Li et al., SIGMOD 2005, section 4.4 (bins, of which some are windows).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from windowing.engine.wids import Flags, Ints
from windowing.engine.windows.assign.assigner import unit_columns
from windowing.engine.windows.assign.sliding import SlidingAssigner, Span
from windowing.engine.windows.part import Scan, Tables
from windowing.model import Pipeline, Query

DEFINERS = "definers"


class DefinedAssigner(SlidingAssigner):
    """Gives the positions at which records count, and those that they make windows.

    Definers have the unit's column, `w_first` (the position), `release` (the epoch at which the
    window appears, or ON_TIME) and `count`: how many records define it or, by rank, may do so.

    Args:
        query: with windows that records define.
        pipeline: its pipeline.
    """

    def __init__(self, query: Query, pipeline: Pipeline) -> None:
        super().__init__(query, pipeline)
        self._unit = unit_columns(query)

    def _outside(self, values: Ints) -> Flags:
        return np.zeros(len(values), dtype=bool)

    def _tables(self, scan: Scan, spans: Sequence[Span]) -> Tables:
        parts = []
        for span in spans:
            # A span that does not begin at the record is late for the window there.
            chosen = span.chosen & (span.first == scan.values) & self._definers(scan)
            parts.append(
                pl.DataFrame(
                    [
                        *(scan.data[name].filter(pl.Series(chosen)) for name in self._unit),
                        pl.Series("w_first", span.first[chosen]),
                        pl.Series("release", span.release[chosen]),
                    ]
                )
            )
        named = [*self._unit, "w_first", "release"]
        counts = pl.concat(parts).group_by(named).agg(count=pl.len().cast(pl.Int64))
        return {**super()._tables(scan, spans), DEFINERS: counts}

    def _definers(self, scan: Scan) -> Flags:
        """Which records define a window, or are counted by rank to find those that do."""
        if self._query.window.traits.counts_arrivals:
            assert scan.numbers is not None  # noqa: S101 - its lane has a row clock for it
            defines: Flags = (scan.numbers + 1) % self._query.window.slide == 0
            return defines
        return np.ones(len(scan.values), dtype=bool)
