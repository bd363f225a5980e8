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
from windowing.spec.operator import Side


class ShortEmitter(JoinEmitter):
    """Looks one microsecond less far."""

    def _within(self, distance: pl.Expr, side: Side) -> pl.Expr:
        return super()._within(distance + 1, side)

    def _bounds(self) -> list[pl.Expr]:
        first, *others = super()._bounds()
        return [first & (pl.col("right:at") != pl.col("left:at") - self._reach["right"]), *others]


GUILTY = guilty(planted("join_reach_one_short", ShortEmitter), "deterministic", lair=lair(join))
