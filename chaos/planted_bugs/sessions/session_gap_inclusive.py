"""Sessions that go on over a distance of exactly the gap.

Defect: `<=` for `<`: two records exactly a gap apart are one session.
How one gets it: the session's end is taken for a time that still belongs to it.
Expected: two sessions of the definition are one row.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import session, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import GAP
from windowing.engine.windows import session_course
from windowing.engine.windows.chains import chained
from windowing.engine.windows.session_course import Piece, _joined, _Session


def generously_chained(pieces: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Chains with a gap that is one too long."""
    wider = chained(pieces.with_columns(pl.col(GAP) + 1), by)
    return wider.with_columns(pl.col(GAP) - 1)


def generously_joined(
    sessions: list[_Session], piece: Piece, gap: int
) -> tuple[list[_Session], list[_Session]]:
    """Joins over a gap that is one too long."""
    return _joined(sessions, piece, gap + 1)


BUG = planted_bug(
    planted(
        "session_gap_inclusive",
        names={
            "windowing.engine.windows.session:chained": generously_chained,
            f"{session_course.__name__}:_joined": generously_joined,
        },
    ),
    "deterministic",
    shows_in=some_query(session),
)
