"""What a step of a shard brings: progress by each clock, and the parcels that moved it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from windowing.engine.progress.clock import ClockId
from windowing.engine.progress.reached import Progress
from windowing.engine.storage.cold import Move
from windowing.engine.storage.parcel import Addition, Parcel


class Moves(NamedTuple):
    """The progress by each clock, before and after a step's parcels."""

    before: Mapping[ClockId, Progress]
    after: Mapping[ClockId, Progress]
    parcels: Sequence[Parcel] = ()

    def of(self, clock: ClockId) -> Move:
        """Return the largest progress of any unit by a clock, before and after."""
        return Move(self.before[clock].highest, self.after[clock].highest)

    def due_before(self, query: str, clock: ClockId) -> list[tuple[int, Addition]]:
        """Return the additions to a query that were due before they came, with their lanes."""
        since = self.before[clock].highest
        return [
            (parcel.partition, addition)
            for parcel in self.parcels
            if (addition := parcel.queries.get(query)) is not None and addition.due_us <= since
        ]
