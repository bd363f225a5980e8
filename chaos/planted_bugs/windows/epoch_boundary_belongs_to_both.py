"""Late epochs whose end boundary is inclusive.

Defect: a progress of exactly k T is released at k T, not at (k + 1) T.
How one gets it: `ceil(x / T) T` instead of `(x div T + 1) T`.
Expected: revisions come too early, or hold records of two epochs.
"""

from __future__ import annotations

import numpy as np

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import sliding, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Ints, release_us


def rounded_up(instant_us: Ints, epoch_us: int) -> Ints:
    """Return the first boundary that is not before each instant."""
    return np.where(instant_us % epoch_us == 0, instant_us, release_us(instant_us, epoch_us))


BUG = planted_bug(
    planted(
        "epoch_boundary_belongs_to_both", names={"windowing.engine.wids:release_us": rounded_up}
    ),
    "deterministic",
    "closing",
    "no error",
    shows_in=some_query(sliding, updates),
)
