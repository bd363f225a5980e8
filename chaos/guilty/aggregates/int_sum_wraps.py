"""Sums of integers that wrap around at 2^63.

Defect: what leaves 64 bits comes back on the other side.
How one gets it: int64 columns, and nobody who looks.
Expected: rows where the definition refuses the log.
"""

from __future__ import annotations

import polars as pl

from chaos.guilty.guilt import guilty
from chaos.guilty.lairs import computing, lair
from chaos.guilty.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.aggregates.plan import Values
from windowing.aggregates.sums import Sums


def wrapped(name: str, sums: Sums) -> Values:
    """Sums modulo 2^64."""
    del name
    found = [(total + 2**63) % 2**64 - 2**63 if n else None for total, n in sums.each()]
    return pl.Series(found, dtype=pl.Int64)


GUILTY = guilty(
    planted("int_sum_wraps", names={"windowing.aggregates.plan:_whole_sums": wrapped}),
    "no error",
    "deterministic",
    lair=lair(computing(("sum",), "int")),
    wish=Wish(overflow=0.5),
)
