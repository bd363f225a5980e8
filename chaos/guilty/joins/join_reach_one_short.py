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
        bounds, ahead = super()._bounds(), pl.col("right:at") - pl.col("left:at")
        if (back := self._reach["right"]) is not None:
            bounds.append(ahead != -back)
        if (on := self._reach["left"]) is not None:
            bounds.append(ahead != on)
        return bounds


GUILTY = guilty(planted("join_reach_one_short", ShortEmitter), "deterministic", lair=lair(join))
