"""What is known of a run's tables already, in a file of the run's folder that may be deleted.

Data files never change. So what was counted in a set of them holds for every version of the table
that has them all, and only the others are read; if one of them is gone, as after `optimize`, all is
counted again. While the newest commit is the one that was seen, the table is not even opened.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from jobs.overview.totals import DeadLetterTotals, LaneCounts, Results
from windowing.files.places import commit_file
from windowing.files.whole_files import WriteError, whole_file

FILE: Final = "overview_cache.json"
"""Its name in the run's folder."""

_FORMAT: Final = 2


class TableVersion(msgspec.Struct):
    """A version of a table.

    Attributes:
        stamp: size, time and number of the file of that commit, which a table that was put back or
            made again does not share.
        files: digests of the run's data files.
    """

    version: int
    stamp: list[int]
    files: list[str]


class Cache(msgspec.Struct):
    """What is known.

    Attributes:
        format: the number of this format.
        seen: by table, the version that was counted.
        results: by query, what is in its table.
        times: some batches and when they were written, in microseconds.
    """

    format: int = _FORMAT
    tables: str = ""
    seen: dict[str, TableVersion] = {}
    results: dict[str, Results] = {}
    lanes: LaneCounts | None = None
    dead: DeadLetterTotals | None = None
    times: list[tuple[int, int]] = []


def load(run_folder: Path, tables: Path) -> Cache:
    """Return what is known of a run's tables; nothing, if the file is no longer of use."""
    try:
        found = msgspec.json.decode((run_folder / FILE).read_bytes(), type=Cache)
    except (OSError, msgspec.MsgspecError, UnicodeError):
        return Cache(tables=str(tables))
    of_use = found.format == _FORMAT and found.tables == str(tables)
    return found if of_use else Cache(tables=str(tables))


def save(run_folder: Path, cache: Cache) -> str | None:
    """Keep what is known; return why that is impossible, if it is."""
    try:
        with whole_file(run_folder / FILE) as file:
            file.write(msgspec.json.encode(cache))
    except WriteError as error:
        return f"the next overview will read the tables anew: {error}"
    return None


def stamp(table: Path, version: int) -> list[int] | None:
    """Return what identifies a commit's file; None: it is not there, or not on this machine."""
    try:
        found = commit_file(table, version).stat()
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns, found.st_ino]


def is_latest(table: Path, seen: TableVersion | None) -> bool:
    """Whether a table is still at the version that was seen."""
    if seen is None or stamp(table, seen.version) != seen.stamp:
        return False
    return not commit_file(table, seen.version + 1).exists()


def digest(path: str) -> str:
    """Return what stands for the path of a data file, which has a random part."""
    return hashlib.blake2b(path.encode(), digest_size=10).hexdigest()


def digests(paths: Iterable[str]) -> list[str]:
    """Return them for several paths."""
    return [digest(path) for path in paths]
