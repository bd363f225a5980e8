"""A calendar of slides that forgets where windows begin.

Defect: windows are looked for where a multiple of their slide has been passed, and not where one
has ended.
How one gets it: the paper's slides have no origin; all of them fire at multiples.
Expected: rows of windows with an ORIGIN are missing.
"""

from __future__ import annotations

import numpy as np

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import shares_slices
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.families.shard_part import FamilyShardPart
from windowing.engine.far import Move
from windowing.engine.wids import Ints


class PhaselessShardPart(FamilyShardPart):
    """Asks for multiples of slides."""

    def _due(self, move: Move) -> Ints:
        slides = self._family.grids.slides[:, 0]
        return np.flatnonzero(move.before_us // slides < move.after_us // slides)


BUG = planted_bug(
    planted("due_by_the_epoch", PhaselessShardPart, shared=True),
    "deterministic",
    "closing",
    shows_in=shares_slices,
    wish=Wish(classes=("sliding",), alike=1),
)
