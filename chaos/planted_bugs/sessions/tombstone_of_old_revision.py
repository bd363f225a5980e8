"""Tombstones with the revision of the row that they end.

Defect: the revision is not raised; a sink with one row per identity may keep either.
How one gets it: a tombstone is treated as a deletion of that row.
Expected: an identity occurs twice, and the tombstone's own is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import session, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.session_course import Sent, _Session, _tombstone


def same_number(sessions: Sequence[_Session], last: Sent, instant: int) -> Sent:
    """Return tombstones with the number of the last row."""
    return replace(_tombstone(sessions, last, instant), revision=last.revision)


BUG = planted_bug(
    planted(
        "tombstone_of_old_revision",
        names={"windowing.engine.windows.session_course:_tombstone": same_number},
    ),
    "deterministic",
    "exactly once",
    shows_in=some_query(session, updates),
)
