"""A retracting session that retracts the new content, not the emitted one.

Defect: the row of `op: retract` has the content of the row that follows it.
How one gets it: both rows are made from the state after the change.
Expected: a retraction differs from the row that it should repeat.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import retracting, session, some_query, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.session import SessionShardPart
from windowing.engine.windows.session_course import Sent


class ForwardShardPart(SessionShardPart):
    """Retracts with the new content."""

    def _as_rows(self, sent: Sent, of: int) -> Iterator[tuple[object, ...]]:
        if sent.before is not None and sent.holds:
            sent = replace(sent, before=replace(sent.before, holds=sent.holds))
        return super()._as_rows(sent, of)


BUG = planted_bug(
    planted("session_takes_back_the_new", ForwardShardPart),
    "deterministic",
    shows_in=some_query(session, updates, retracting),
)
