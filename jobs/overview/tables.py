"""What a run's Delta tables say: what is known already, and what is new in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from polars.exceptions import PolarsError

from jobs.overview import counting
from jobs.overview.batch_times import BatchTimes
from jobs.overview.cache import Cache, Seen, is_newest
from jobs.overview.files import Files, Unreadable, added_since, unreadable
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

    def results(self, tables: Mapping[str, bool]) -> dict[str, Results]:
        """Count what is in tables of queries; a table that cannot be read is left out.

        Args:
            tables: by name, whether several queries share it.
        """
        count = {True: counting.results_of_several, False: counting.results}
        found = {
            name: self._updated(name, self.cache.results.get(name), count[shared])
            for name, shared in tables.items()
        }
        self.cache.results = {name: one for name, one in found.items() if one is not None}
        return self.cache.results

    def lanes(self) -> LaneCounts | None:
        """Count what is in the table of metrics; None: it cannot be read."""
        self.cache.lanes = self._updated("metrics", self.cache.lanes, counting.lanes)
        return self.cache.lanes

    def dead(self) -> Dead | None:
        """Count what is in the table of dead letters; None: it cannot be read."""
        self.cache.dead = self._updated("dead_letters", self.cache.dead, counting.dead)
        return self.cache.dead

    def finish(self) -> Cache:
        """Return what is known now."""
        if self.changed:
            self.cache.times = self.times.points()
        return self.cache

    def _updated(
        self, name: str, known: Sums | None, count: Callable[[Files, BatchTimes], Sums]
    ) -> Sums | None:
        """Return the sums of a table, after reading what is new in it."""
        seen = self.cache.seen.get(name) if known is not None else None
        if is_newest(self.folder / name, seen):
            return known
        try:
            files, now = self._files(self.folder / name, seen)
            found = count(files, self.times)
        except (Unreadable, OSError, PolarsError) as error:
            is_said = isinstance(error, Unreadable)
            self.problems.append(str(error) if is_said else unreadable(self.folder / name, error))
            self.cache.seen.pop(name, None)
            return None
        self.changed, self.cache.seen[name] = True, now
        if known is None or files.whole:
            return found
        known.add(found)
        return known

    def _files(self, table: Path, seen: Seen | None) -> tuple[Files, Seen]:
        """Return what has not been counted, and the version that it leads to.

        Raises:
            Unreadable: it cannot be read.
        """
        told = added_since(table, self.run, seen)
        if told is not None:
            return told
        # Imported only here: deltalake and Arrow take longer than all else.
        from jobs.overview.opening import opened  # noqa: PLC0415

        return opened(table, self.run, seen)
