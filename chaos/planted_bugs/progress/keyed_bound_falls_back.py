"""Progress per key that is the key's newest bound, not its largest.

Defect: a smaller bound lowers the key's progress.
How one gets it: assigning to a map.
Expected: rows come late or never, and late records are in revision 0.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import per_key
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import KEY_BOUND
from windowing.engine.progress.clock import Rows, _per_key
from windowing.engine.wids import NOTHING_YET, Ints


def newest(
    rows: Rows, key: str, promised: Ints, keys: pl.DataFrame | None
) -> tuple[Ints, pl.DataFrame, pl.DataFrame]:
    """Return the last bound of each key."""
    events = rows.all.select(key, pl.Series(promised).alias(KEY_BOUND))
    events = events.filter(pl.Series(promised != NOTHING_YET))
    last = events.group_by(key).agg(pl.col(KEY_BOUND).last())
    before, all_, moved = _per_key(rows, key, promised, keys)
    fallen = all_.join(last, on=key, how="left", nulls_equal=True, suffix="_last").select(
        key, pl.coalesce("bound_last", KEY_BOUND).alias(KEY_BOUND)
    )
    return np.asarray(before), fallen.sort(key), moved


BUG = planted_bug(
    planted("keyed_bound_falls_back", names={"windowing.engine.progress.clock:_per_key": newest}),
    "deterministic",
    "dead letters",
    "conservation",
    shows_in=per_key,
)
