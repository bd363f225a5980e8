"""Defects of families: queries that share slices, and get each other's rows or none."""

from __future__ import annotations

import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import shares_slices
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.columns import AT
from windowing.engine.families.cells import Cells
from windowing.engine.families.lane_part import FamilyLanePart, Placement
from windowing.engine.families.shard_part import FamilyShardPart
from windowing.engine.storage.cold import Move
from windowing.engine.wids import Ints


# A calendar of slides that forgets where windows begin. How one gets it: the paper's slides have
# no origin; all of them fire at multiples.
@planted(
    "due_by_the_epoch",
    "deterministic, closing",
    shared=True,
    shows_in=shares_slices,
    wish=Wish(classes=("sliding",), alike=1),
)
class PhaselessShardPart(FamilyShardPart):
    def _due(self, move: Move) -> Ints:
        slides = self._family.grids.slides[:, 0]
        return np.flatnonzero(move.before_us // slides < move.after_us // slides)


# Shared slices that are dropped when the first query no longer needs them. How one gets it: the
# family is purged by the rule of one query, the first.
@planted(
    "kept_for_the_shortest",
    "deterministic, closing",
    shared=True,
    shows_in=shares_slices,
    wish=Wish(classes=("sliding",), alike=1),
)
class HurriedShardPart(FamilyShardPart):
    def _until(self, table: pl.DataFrame) -> Ints:
        first = self._family.grids.some(slice(0, 1))
        until: Ints = first.ends(first.last(table[AT].to_numpy()))[0] + self._past_end
        return until


# Shared slices that do not know from which window end on their late records count. How one gets
# it: slices are keyed by their place alone, as for one query without disorder.
@planted(
    "late_for_one_is_late_for_none",
    "deterministic, conservation, closing",
    shared=True,
    shows_in=shares_slices,
    wish=Wish(classes=("sliding",), alike=1),
)
class ForgivingLanePart(FamilyLanePart):
    def _reached(self, cells: Cells, release: Ints, progress_us: int | Ints) -> Placement:
        del progress_us
        return Placement(cells, release)
