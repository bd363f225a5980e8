"""Tombstones that name the absorbed session instead of the absorbing one.

Defect: `absorbed_by` is the old start.
How one gets it: the field is filled before the merge.
Expected: a tombstone differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import session, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.session_course import Sent, _Session, _tombstone


def selfish(sessions: Sequence[_Session], last: Sent, instant: int) -> Sent:
    """Return tombstones that name their own session as absorber."""
    return replace(_tombstone(sessions, last, instant), absorbed_by=last.start)


BUG = planted_bug(
    planted(
        "tombstone_names_itself",
        names={"windowing.engine.windows.session_course:_tombstone": selfish},
    ),
    "deterministic",
    shows_in=some_query(session, updates),
)
