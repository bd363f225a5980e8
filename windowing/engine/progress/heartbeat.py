"""Heartbeats: bounds from the delays of records and the errors of clocks.

If a lane's clock is off by up to s, and its records take between l and L, a record gives the same
bound as a slack of L - l + 2s. A heartbeat which shows that true time has reached T promises that
nothing older than T - L - s follows.

Source: Srivastava and Widom, "Flexible Time Management in Data Stream Systems", PODS 2004.
"""

from __future__ import annotations

import polars as pl

from windowing.engine.columns import TIME
from windowing.engine.progress.generator import lane_generator
from windowing.engine.wids import Ints, lowered
from windowing.model import progress


@lane_generator(progress.Heartbeat.name, memoryless=True)
class Heartbeat:
    """A generator of bounds from a lane's own records and from heartbeats.

    Args:
        data: the delays of every lane.
        lane: the lane.
    """

    def __init__(self, data: progress.Heartbeat, lane: str) -> None:
        delays = dict(data.sources)[lane]
        self._own_us = delays.max_delay_us - delays.min_delay_us + 2 * delays.skew_us
        self._behind_us = delays.max_delay_us + delays.skew_us

    def bounds(self, records: pl.DataFrame, memory: list[int]) -> Ints:
        """Return the bound after each record."""
        return lowered(records[TIME].to_numpy(), self._own_us)

    def observed(self, instants_us: Ints) -> Ints:
        """Return the bounds once true time has reached these instants."""
        return lowered(instants_us, self._behind_us)
