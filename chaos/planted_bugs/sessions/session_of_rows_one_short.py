"""Sessions of rows that end one foreign record too early.

Defect: a session with a gap of N rows ends after N - 1 records of other keys.
How one gets it: an off-by-one in "fewer than N".
Expected: sessions differ.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import session_of_rows, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.columns import GAP
from windowing.engine.windows.chains import chained
from windowing.engine.windows.session_course import Piece, _joined, _Session


def closely_chained(pieces: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Chain with a gap that is one too short."""
    closer = chained(pieces.with_columns(pl.col(GAP) - 1), by)
    return closer.with_columns(pl.col(GAP) + 1)


def closely_joined(
    sessions: list[_Session], piece: Piece, gap: int
) -> tuple[list[_Session], list[_Session]]:
    """Join with a gap that is one too short."""
    return _joined(sessions, piece, gap - 1)


BUG = planted_bug(
    planted(
        "session_of_rows_one_short",
        names={
            "windowing.engine.windows.session:chained": closely_chained,
            "windowing.engine.windows.session_course:_joined": closely_joined,
        },
    ),
    "deterministic",
    shows_in=some_query(session_of_rows),
)
