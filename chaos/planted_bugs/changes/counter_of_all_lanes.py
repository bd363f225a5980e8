"""Lanes that have one counter together.

Defect: a record is believed if its counter is larger than that of any lane.
How one gets it: the writer has one counter, so the reader is given one, too.
Expected: dead letters of records that are signed rightly, depending on which lane comes first.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import with_lane
from chaos.planted_bugs.conditions import several_lanes, some_flow
from chaos.planted_bugs.planted import PlantedLane
from chaos.simulator.platform.cluster import SimulatedCluster
from chaos.simulator.platform.job import SimulatedJob
from windowing.engine.lane import LaneState


class _Counter:
    """The largest counter of a run."""

    largest = -1


class Common(PlantedLane):
    """Compares its counter with that of all lanes of the run."""

    counter = _Counter()

    def _once(self, chunk: pl.DataFrame, state: LaneState) -> pl.DataFrame:
        state.counter = max(state.counter, self.counter.largest)
        found = super()._once(chunk, state)
        self.counter.largest = max(state.counter, self.counter.largest)
        return found


class CommonJob(SimulatedJob):
    """Gives its lanes one counter."""

    def _new_cluster(self) -> SimulatedCluster:
        Common.counter = _Counter()
        return super()._new_cluster()


BUG = planted_bug(
    replace(with_lane("counter_of_all_lanes", Common), job=CommonJob),
    *("dead letters", "deterministic", "conservation", "progress", "closing", "repeatable"),
    shows_in=some_flow(several_lanes),
)
