"""What a run's Delta tables say: what is known already, and what is new in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jobs.overview.buckets import BatchTimes
from jobs.overview.cache import Cache, TableVersion, is_latest
from jobs.overview.counting import counted
from jobs.overview.files import Files, Unreadable, added_since
from jobs.overview.totals import DeadLetterTotals, LaneCounts, Results, Totals


@dataclass
class Tables:
    """The Delta tables of a run.

    Args:
        folder: the folder that they are in.
        cache: what is known already; it is brought up to date.
        before: the first batch to leave out, which a job may be writing; None: none.
        fates: the names of those that windows have no part in.
        bytes_max: how large the new files of a table may be to be counted; None: as large as they
            are. Of a table with more, what is known stays.

    Attributes:
        problems: what could not be read, and why.
        changed: whether there was something new.
    """

    folder: Path
    run: str
    cache: Cache
    before: int | None = None
    fates: Sequence[str] = ()
    bytes_max: int | None = None
    problems: list[str] = field(default_factory=list)
    changed: bool = False

    def __post_init__(self) -> None:
        self.times = BatchTimes(self.cache.times)

    def results(self, tables: Sequence[str]) -> dict[str, Results]:
        """Count what is in tables of results; one that cannot be read is left out."""
        found = {
            name: self._updated(name, self.cache.results.get(name), Results) for name in tables
        }
        self.cache.results = {name: one for name, one in found.items() if one is not None}
        return self.cache.results

    def lanes(self) -> LaneCounts | None:
        """Count what is in the table of metrics; None: it cannot be read."""
        self.cache.lanes = self._updated("metrics", self.cache.lanes, LaneCounts)
        return self.cache.lanes

    def dead(self) -> DeadLetterTotals | None:
        """Count what is in the table of dead letters; None: it cannot be read."""
        self.cache.dead = self._updated("dead_letters", self.cache.dead, DeadLetterTotals)
        return self.cache.dead

    def place(self, table: str) -> str:
        """Return where a table is, for people."""
        return str(self.folder / table)

    def finish(self) -> Cache:
        """Return what is known now."""
        if self.changed:
            self.cache.times = self.times.points()
        return self.cache

    def _updated(self, name: str, known: Totals | None, kind: type[Totals]) -> Totals | None:
        """Return the sums of a table, after reading what is new in it."""
        seen = self.cache.seen.get(name) if known is not None else None
        if is_latest(self.folder / name, seen):
            return known
        try:
            files, now = self._files(self.folder / name, seen)
            if self.bytes_max is not None and files.size > self.bytes_max:
                return known
            found = counted(kind, files, self.times, self.fates)
        except Unreadable as error:
            self.problems.append(str(error))
            self.cache.seen.pop(name, None)
            return None
        self.changed, self.cache.seen[name] = True, now
        if known is None or files.whole:
            return found
        known.add(found)
        return known

    def _files(self, table: Path, seen: TableVersion | None) -> tuple[Files, TableVersion]:
        """Return what has not been counted, and the version that it leads to.

        Raises:
            Unreadable: it cannot be read.
        """
        added = added_since(table, self.run, seen, self.before)
        if added is not None:
            return added
        # Imported only here: deltalake and Arrow take longer than all else.
        from jobs.overview.opening import opened  # noqa: PLC0415

        return opened(table, self.run, seen, self.before)
