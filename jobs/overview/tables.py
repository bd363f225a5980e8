"""What a run's Delta tables say: what is known already, and what is new in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from jobs.overview.batch_times import BatchTimes
from jobs.overview.cache import Cache, is_newest
from jobs.overview.found import Dead, LaneCounts, Results

Sums = TypeVar("Sums", Results, LaneCounts, Dead)


@dataclass
class Tables:
    """The tables of a run.

    Args:
        folder: the folder that they are in.
        run: the run.
        cache: what is known already; it is brought up to date.

    Attributes:
        problems: what could not be read, and why.
        changed: whether there was something new.
    """

    folder: Path
    run: str
    cache: Cache
    problems: list[str] = field(default_factory=list)
    changed: bool = False

    def __post_init__(self) -> None:
        self.times = BatchTimes(self.cache.times)

    def results(self, queries: Sequence[str]) -> dict[str, Results]:
        """Count what is in the tables of queries; a table that cannot be read is left out."""
        found = {
            name: self._updated(name, self.cache.results.get(name), "results") for name in queries
        }
        self.cache.results = {name: one for name, one in found.items() if one is not None}
        return self.cache.results

    def lanes(self) -> LaneCounts | None:
        """Count what is in the table of metrics; None: it cannot be read."""
        self.cache.lanes = self._updated("metrics", self.cache.lanes, "lanes")
        return self.cache.lanes

    def dead(self) -> Dead | None:
        """Count what is in the table of dead letters; None: it cannot be read."""
        self.cache.dead = self._updated("dead_letters", self.cache.dead, "dead")
        return self.cache.dead

    def finish(self) -> Cache:
        """Return what is known now."""
        if self.changed:
            self.cache.times = self.times.points()
        return self.cache

    def _updated(self, name: str, known: Sums | None, kind: str) -> Sums | None:
        """Return the sums of a table, after reading what is new in it."""
        seen = self.cache.seen.get(name) if known is not None else None
        if is_newest(self.folder / name, seen):
            return known
        # Imported only now: where nothing is new, deltalake and Arrow take longer than all else.
        from jobs.overview import counting  # noqa: PLC0415

        count: Any = {"results": counting.results, "lanes": counting.lanes, "dead": counting.dead}[
            kind
        ]
        try:
            found, now, whole = counting.counted(
                self.folder / name, self.run, seen, count, self.times
            )
        except counting.Unreadable as error:
            self.problems.append(str(error))
            self.cache.seen.pop(name, None)
            return None
        self.changed, self.cache.seen[name] = True, now
        if known is None or whole:
            return found
        known.add(found)
        return known
