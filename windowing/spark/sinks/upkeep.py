"""Upkeep of Delta tables: small files are merged, and files that no version needs are removed.

Both are safe beside a job that writes, and beside each other. A compaction replaces files by files
with the same rows, and leaves the application transactions alone that make a batch exactly-once
(see `adr/0026`).
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, TableNotFoundError

from windowing.engine.tuning import tuning
from windowing.files.places import is_remote
from windowing.model import Pipeline
from windowing.spark.sinks.data_files import RUN, is_ours
from windowing.spark.sinks.rows import schemas
from windowing.spark.sinks.table_log import STAGED
from windowing.spark.sinks.tokens import TOKENS

RETENTION: Final = timedelta(days=7)
"""How long files stay that the newest version of a table does not need; Delta's own default."""

_LOCK: Final = "_upkeep.lock"
"""A file in a table's folder; readers pass over names that begin so."""


class TableUpkeep(NamedTuple):
    """What upkeep has done to a table, or would do.

    Attributes:
        files: the number of files merged or removed.
        size: of these files, in bytes.
        added: the number of files that replace them; 0 if that is not known yet.
    """

    table: str
    files: int
    size: int
    added: int = 0


def optimize(
    pipeline: Pipeline, folder: Path, run: str | None = None, *, dry_run: bool = False
) -> Iterator[TableUpkeep]:
    """Merge the small files of each table; write a checkpoint of its log and remove expired logs.

    Args:
        run: only this run's files; None: all runs'.
        dry_run: only count.

    Raises:
        CommitFailedError: other writers changed the same files again and again.
    """
    for name, table in _tables(pipeline, folder, dry_run=dry_run):
        small = _small_files(table, run)
        if dry_run or not small:
            yield TableUpkeep(name, len(small), sum(small))
            continue
        added = _compact(table, run)
        table.create_checkpoint()
        table.cleanup_metadata()
        yield TableUpkeep(name, len(small), sum(small), added)


def vacuum(
    pipeline: Pipeline,
    folder: Path,
    run: str | None = None,
    *,
    retention: timedelta = RETENTION,
    dry_run: bool = False,
) -> Iterator[TableUpkeep]:
    """Remove data files that are older than the retention and needed by no version within it.

    These are files that a compaction has replaced, and files of attempts that were never committed;
    and, if all runs are meant, unfinished commits, in which drivers have died.
    Files that no writer of tables has named are never removed.

    Args:
        run: only this run's files; None: all runs'.
        retention: how long unneeded files stay, rounded up to hours.
        dry_run: only count.
    """
    hours = -(-retention // timedelta(hours=1))
    for name, table in _tables(pipeline, folder, dry_run=dry_run):
        unneeded = table.vacuum(hours, dry_run=True, enforce_retention_duration=False, full=True)
        ours = [
            folder / name / path
            for path in unneeded
            if is_ours(Path(path).name) and (run is None or path.startswith(_folder_of(run)))
        ]
        if run is None:
            ours += _left_commits(folder / name, hours)
        sizes = _sizes(ours)
        if not dry_run:
            for path in sizes:
                path.unlink(missing_ok=True)
        yield TableUpkeep(name, len(sizes), sum(sizes.values()))


def _sizes(paths: Iterable[Path]) -> dict[Path, int]:
    """Return the sizes of files; a log still names those that a vacuum has removed."""
    found = dict[Path, int]()
    for path in paths:
        with suppress(FileNotFoundError):
            found[path] = path.stat().st_size
    return found


def _left_commits(table: Path, hours: int) -> Iterator[Path]:
    before = time.time() - timedelta(hours=hours).total_seconds()
    for path in (table / "_delta_log").glob(STAGED):
        with suppress(FileNotFoundError):  # a job has finished it meanwhile
            if path.stat().st_mtime < before:
                yield path


def _tables(
    pipeline: Pipeline, folder: Path, *, dry_run: bool = False
) -> Iterator[tuple[str, DeltaTable]]:
    """Yield each table, locked until the next one is asked for unless nothing will be changed."""
    for name in (*schemas(pipeline), TOKENS):
        with nullcontext() if dry_run else _locked(folder / name):
            try:
                table = DeltaTable(str(folder / name))
            except TableNotFoundError:
                continue
            yield name, table


@contextmanager
def _locked(table: Path) -> Iterator[None]:
    """Keep other processes from the upkeep of a table meanwhile; tables on HDFS have no locks.

    Of two compactions of the same files, deltalake commits both, and every row is there twice: it
    takes a commit that only moves rows for no conflict (delta-rs 3982; as of 1.6.6).
    """
    if is_remote(table) or not table.is_dir():
        yield
        return
    with (table / _LOCK).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _small_files(table: DeltaTable, run: str | None) -> Sequence[int]:
    """Return the sizes of files to merge: below the target, and not alone in their run."""
    actions = table.get_add_actions(flatten=True)
    sizes: dict[str, list[int]] = {}
    for of_run, size in zip(
        actions[f"partition.{RUN}"].to_pylist(), actions["size_bytes"].to_pylist(), strict=True
    ):
        if size < tuning().merged_file_bytes and run in (None, of_run):
            sizes.setdefault(of_run, []).append(size)
    return [size for small in sizes.values() if len(small) > 1 for size in small]


def _compact(table: DeltaTable, run: str | None) -> int:
    """Merge small files; return how many files replace them.

    A job that adds a column meanwhile is a conflict: then the files are looked up anew.
    """
    filters = None if run is None else [(RUN, "=", run)]
    for left in reversed(range(tuning().merge_tries)):
        try:
            done = table.optimize.compact(
                partition_filters=filters, target_size=tuning().merged_file_bytes
            )
        except CommitFailedError:
            if not left:
                raise
            table.update_incremental()
        else:
            return int(done["numFilesAdded"])
    raise AssertionError


def _folder_of(run: str) -> str:
    return f"{RUN}={quote(run, safe='')}/"
