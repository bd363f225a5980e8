"""The files of a run in a table that have not been counted, as the table's newest commits say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import polars as pl

from jobs.overview.cache import TableVersion, digests, stamp
from windowing.files.places import commit_file

BATCH: Final = "batch_id"
AT: Final = "at_us"

COMMITS_MAX: Final = 500
"""How many commits are read one by one; after more, opening the table is quicker."""


@dataclass(frozen=True)
class AddedFile:
    """A file that was added to a table.

    Attributes:
        batches: the smallest and the largest batch in it; None: unknown.
        size: in bytes.
    """

    path: str
    batches: tuple[int, int] | None
    at_us: int
    size: int

    def is_before(self, cut: int | None) -> bool:
        """Whether all of its rows are of batches before one; None: whatever they are of."""
        return cut is None or (self.batches is not None and self.batches[1] < cut)

    def is_behind(self, cut: int | None) -> bool:
        """Whether none of its rows are."""
        return cut is not None and self.batches is not None and self.batches[0] >= cut


@dataclass(frozen=True)
class Files:
    """The files of a run in a table, some of which have been counted.

    Attributes:
        fresh: those that have not been counted.
        whole: whether these are all files.
        elsewhere: reads columns of all rows of a table that is not on this machine.
        before: rows of this batch and later ones are left out; None: none are.
    """

    folder: Path
    fresh: Sequence[AddedFile]
    whole: bool
    elsewhere: Callable[[Mapping[str, Any]], pl.LazyFrame] | None = None
    before: int | None = None

    @property
    def size(self) -> int:
        """Bytes of those that have not been counted."""
        return sum(file.size for file in self.fresh)


class Unreadable(RuntimeError):
    """A table that cannot be read."""


def unreadable(table: Path, error: Exception) -> str:
    """Return why a table cannot be read, in one sentence."""
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return f"{table} cannot be read: {first}"


class Unclear(ValueError):
    """Commits that do more than add files: the table has to be opened."""


def added_since(
    table: Path, run: str, seen: TableVersion | None, before: int | None = None
) -> tuple[Files, TableVersion] | None:
    """Return the files that were committed after a version, and the version now.

    None: the commits do not say, because they are gone or take files away.

    Args:
        table: its folder.
        seen: the version that was counted.
        before: the first batch to leave out; None: none.
    """
    if seen is None or stamp(table, seen.version) != seen.stamp:
        return None
    version, fresh = seen.version, list[tuple[str, AddedFile]]()
    try:
        while (file := commit_file(table, version + 1)).exists():
            if version - seen.version >= COMMITS_MAX:
                return None
            lines = file.read_bytes().splitlines()
            added = [*_added(json.loads(line) for line in lines if line)]
            if not all(one.is_before(before) for of_run, one in added if of_run == run):
                break  # it is counted once its batch is committed
            version, fresh = version + 1, fresh + added
    except (OSError, ValueError, KeyError, TypeError):  # whoever opens the table says what is wrong
        return None
    own = [file for of_run, file in fresh if of_run == run]
    now = TableVersion(
        version, stamp(table, version) or [], [*seen.files, *digests(f.path for f in own)]
    )
    return Files(table, own, whole=False), now


def _added(actions: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, AddedFile]]:
    """Yield the files that a commit adds, each with its run.

    Raises:
        Unclear: it does something else with files.
    """
    for action in actions:
        if "remove" in action or "protocol" in action:
            msg = "the commit removes files, or asks more of readers"
            raise Unclear(msg)
        if (add := action.get("add")) is not None:
            stats = json.loads(add.get("stats") or "{}")
            ends = [stats.get(name, {}).get(BATCH) for name in ("minValues", "maxValues")]
            batches = None if None in ends else (int(ends[0]), int(ends[1]))
            at_us = int(add["modificationTime"]) * 1000
            added = AddedFile(unquote(add["path"]), batches, at_us, int(add["size"]))
            yield add["partitionValues"]["run"], added


def rows_in(files: Files, columns: Mapping[str, Any]) -> pl.LazyFrame:
    """Return columns of the rows in files that have not been counted.

    Args:
        columns: their types; a column that a file lacks is null.
    """
    if files.elsewhere is not None:
        found = files.elsewhere(columns)
    elif not files.fresh:
        found = pl.LazyFrame(schema=dict(columns))
    else:
        found = _scanned(files, columns)
    return found if files.before is None else found.filter(pl.col(BATCH) < files.before)


def _scanned(files: Files, columns: Mapping[str, Any]) -> pl.LazyFrame:
    return pl.scan_parquet(
        [files.folder / file.path for file in files.fresh],
        schema=dict(columns),
        missing_columns="insert",
        extra_columns="ignore",
        hive_partitioning=False,
        glob=False,
    )


def written(files: Files) -> pl.DataFrame:
    """Return when files with a single batch were committed, by batch."""
    alone = [file for file in files.fresh if file.batches and len({*file.batches}) == 1]
    rows = [(file.batches[0], file.at_us) for file in alone if file.batches]
    return pl.DataFrame(rows, schema={BATCH: pl.Int64, AT: pl.Int64}, orient="row")
