"""A join whose windows end one instant before the distance that they allow.

Defect: `<` for `<=`: a partner exactly a window away is none.
How one gets it: half-open windows everywhere else.
Expected: pairs are missing.
"""

from __future__ import annotations

import polars as pl

from chaos.guilty.guilt import guilty
from chaos.guilty.lairs import join, lair
from chaos.guilty.planted import planted
from windowing.emission.joins import JoinEmitter


class ShortEmitter(JoinEmitter):
    """Looks one microsecond less far."""

    def _bounds(self) -> list[pl.Expr]:
        bounds, reach = super()._bounds(), self._reach["right"]
        if reach is None:
            return bounds
        first, *others = bounds
        return [first & (pl.col("right:at") != pl.col("left:at") - reach), *others]


GUILTY = guilty(planted("join_reach_one_short", ShortEmitter), "deterministic", lair=lair(join))
