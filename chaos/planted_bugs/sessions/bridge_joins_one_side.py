"""A late record between two sessions that extends the earlier one but does not merge the later.

Defect: the lookup of a record's session assumes that there is only one.
How one gets it: a lookup that stops at the first hit.
Expected: two sessions where the definition has one.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import session, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.session_course import Piece, _joined, _Session


def one_sided(
    sessions: list[_Session], piece: Piece, gap: int
) -> tuple[list[_Session], list[_Session]]:
    """Join a piece with the session before it, but not the one after it."""
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
