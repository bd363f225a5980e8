"""Sessions that continue across a distance of exactly the gap.

Defect: `<=` instead of `<`: two records exactly a gap apart are one session.
How one gets it: the session's end is treated as inclusive.
Expected: two sessions of the definition become one row.
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
    """Chain with a gap that is one too long."""
    wider = chained(pieces.with_columns(pl.col(GAP) + 1), by)
    return wider.with_columns(pl.col(GAP) - 1)


def generously_joined(
    sessions: list[_Session], piece: Piece, gap: int
) -> tuple[list[_Session], list[_Session]]:
    """Join with a gap that is one too long."""
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
