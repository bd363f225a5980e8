"""What a run's Delta tables say: what is known already, and what is new in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from jobs.overview.buckets import BatchTimes
from jobs.overview.cache import Cache, TableVersion, digest, digests, is_latest, stamp
from jobs.overview.counting import counted
from jobs.overview.files import AddedFile, Files, Unreadable, added_since, unreadable
from jobs.overview.totals import DeadLetterTotals, LaneCounts, Results, Totals
from windowing.files.table_rows import rows_in

_LOW, _HIGH, _AT = "min.batch_id", "max.batch_id", "modification_time"
_SIZE: Final = "size_bytes"
_RUN: Final = "partition.run"


def is_here(table: Path) -> bool:
    """Whether a table is on this machine; if not, it is on HDFS, and only deltalake reaches it."""
    return table.is_dir()


def opened(folder: Path, run: str, seen: TableVersion | None) -> tuple[Files, TableVersion]:
    """Open a table; return the run's files in it, and its version.

    Args:
        seen: the version that was counted; None: none.

    Raises:
        Unreadable: it cannot be opened.
    """
    try:
        table = DeltaTable(str(folder))
        files = _files(pl.DataFrame(table.get_add_actions(flatten=True)), run)
    except TableNotFoundError:
        msg = f"{folder} is not there yet: the run has not written to it"
        raise Unreadable(msg) from None
    except (DeltaError, OSError, pl.exceptions.PolarsError) as error:
        raise Unreadable(unreadable(folder, error)) from None
    current, before = digests(file.path for file in files), set(seen.files if seen else ())
    now = TableVersion(table.version(), stamp(folder, table.version()) or [], current)
    if not is_here(folder):
        return Files(folder, files, True, lambda columns: _elsewhere(table, run, columns)), now
    if not before <= set(current):
        return Files(folder, files, whole=True), now
    fresh = [file for file in files if digest(file.path) not in before]
    return Files(folder, fresh, whole=not before), now


def _elsewhere(table: DeltaTable, run: str, columns: Mapping[str, Any]) -> pl.LazyFrame:
    """Read columns of a run's rows; a column that the table lacks is null."""
    there = [name for name in columns if name in table.schema().to_arrow().names]
    rows = pl.LazyFrame(pl.DataFrame(rows_in(table, columns=there, run=run)))
    absent = [pl.lit(None).alias(name) for name in columns if name not in there]
    return rows.with_columns(absent).select(list(columns)).cast(pl.Schema(columns))


def _files(actions: pl.DataFrame, run: str) -> list[AddedFile]:
    """Return the files of a run, as deltalake lists a table's."""
    if not len(actions):
        return []
    mine = actions.filter(pl.col(_RUN) == run)
    if mine.schema[_AT] == pl.Datetime:
        mine = mine.with_columns(pl.col(_AT).dt.epoch("ms"))
    known = _LOW in mine.columns and _HIGH in mine.columns
    ends = [(None, None)] * len(mine) if not known else mine.select(_LOW, _HIGH).iter_rows()
    return [
        AddedFile(unquote(path), None if None in (low, high) else (low, high), at * 1000, size)
        for path, at, size, (low, high) in zip(
            mine["path"], mine[_AT], mine[_SIZE], ends, strict=True
        )
    ]


@dataclass
class Tables:
    """The Delta tables of a run.

    Args:
        folder: the folder that they are in.
        cache: what is known already; it is brought up to date.
        bytes_max: how large the new files of a table may be to be counted; None: as large as they
            are. Of a table with more, what is known stays.

    Attributes:
        problems: what could not be read, and why.
        changed: whether there was something new.
    """

    folder: Path
    run: str
    cache: Cache
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
            found = counted(kind, files, self.times)
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
        added = added_since(table, self.run, seen)
        if added is not None:
            return added
        return opened(table, self.run, seen)
