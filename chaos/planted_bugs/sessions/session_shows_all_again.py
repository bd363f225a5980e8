"""A discarding session that shows everything in every revision.

Defect: `discarding` is read as `accumulating`.
How one gets it: accumulation is left to the state, which keeps everything.
Expected: later rows hold more than the new records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import discarding, session, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.session import SessionShardPart
from windowing.engine.windows.session_course import Sent


class KeepingShardPart(SessionShardPart):
    """Never subtracts what was shown."""

    def _as_rows(self, sent: Sent, of: int) -> Iterator[tuple[object, ...]]:
        if sent.before is not None and self._query.accumulation == "discarding":
            sent = replace(sent, before=replace(sent.before, holds=frozenset()))
        return super()._as_rows(sent, of)


BUG = planted_bug(
    planted("session_shows_all_again", KeepingShardPart),
    "deterministic",
    shows_in=some_query(session, updates, discarding),
)
