"""A session whose revisions restart when it absorbs another one.

Defect: emitted revisions are stored by session, not by start.
How one gets it: a merged window is a new object.
Expected: an identity occurs twice, or a revision has the number of another.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import session, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.session_course import Piece, _joined, _Session


def forgetful(
    sessions: list[_Session], piece: Piece, gap: int
) -> tuple[list[_Session], list[_Session]]:
    """Join sessions, but forget what was emitted for a session that absorbed another."""
    after, gone = _joined(sessions, piece, gap)
    if gone:
        after[-1].sent = None
    return after, gone


BUG = planted_bug(
    planted(
        "merged_session_counts_anew",
        names={"windowing.engine.windows.session_course:_joined": forgetful},
    ),
    "deterministic",
    shows_in=some_query(session, updates),
)
