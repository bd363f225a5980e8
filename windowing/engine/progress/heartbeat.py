"""Heartbeats: bounds that follow from how long records travel and how wrong clocks are.

A record that leaves at ts by a clock that is s off, and travels between l and L, says of its own
lane what a slack of L - l + 2s says. A heartbeat that knows the true clock to have reached T says
that nothing older than T - L - s is still to come.

Source: Srivastava and Widom, "Flexible Time Management in Data Stream Systems", PODS 2004.
"""

from __future__ import annotations

import polars as pl

from windowing.engine.columns import TIME
from windowing.engine.wids import Ints, lowered
from windowing.model.progress.disorder import Delays


class Heartbeat:
    """Own records, and what heartbeats have seen.

    Args:
        delays: of this lane.
    """

    def __init__(self, delays: Delays) -> None:
        self._own_us = delays.max_delay_us - delays.min_delay_us + 2 * delays.skew_us
        self._behind_us = delays.max_delay_us + delays.skew_us

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """The bound after each record."""
        return lowered(records[TIME].to_numpy(), self._own_us)

    def observed(self, instants_us: Ints) -> Ints:
        """What may still come once the true clock has reached these instants."""
        return lowered(instants_us, self._behind_us)
