"""A late record between two sessions joins the earlier one and leaves the later one as it is.

Defect: a record is looked for the session that it belongs to, as if there could be one only.
How one gets it: a lookup that stops at the first hit.
Expected: two sessions stand where the definition has one.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import session, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.session_course import Piece, _joined, _Session


def one_sided(
    sessions: list[_Session], piece: Piece, gap: int
) -> tuple[list[_Session], list[_Session]]:
    """Joins what lies before the piece, and nothing behind it."""
    behind = [session for session in sessions if session.first > piece.last]
    before = [session for session in sessions if session not in behind]
    if not any(session.last + gap > piece.first for session in before):
        return _joined(sessions, piece, gap)
    after, gone = _joined(before, piece, gap)
    return [*behind, *after], gone


BUG = planted_bug(
    planted(
        "bridge_joins_one_side",
        names={"windowing.engine.windows.session_course:_joined": one_sided},
    ),
    "deterministic",
    shows_in=some_query(session, updates),
)
