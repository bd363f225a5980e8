"""Data files of Delta tables, and the stage in which executors write large results into them.

A file's name is unique, so an attempt that is repeated or run twice never overwrites another's. A
file that no commit names is an orphan, which `vacuum` removes. A task passes on small results as
they are, so that a small batch is as fast as ever; of large ones it writes a file per table, and
sends only their names to the driver.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from windowing.engine.effects import took_effect
from windowing.engine.tuning import tuning
from windowing.files.places import write_new
from windowing.model.run_errors import UnseenFile
from windowing.runtime.output import CHANGE, DATA_FILE, METRIC, SinkFrame
from windowing.spark.sinks.growth import conformed
from windowing.spark.sinks.rows import BatchRows
from windowing.spark.sinks.written import Portion, portions_of
from windowing.spark.storage.shipped import unpacked

RUN: Final = "run"
"""The column by which tables are partitioned."""

_NAME: Final = re.compile(r"part-\d+-[0-9a-f-]{36}-c\d+(\.\w+)?\.parquet")
_LAST = "\U0010ffff"
"""Makes a shortened text larger than what it stands for."""

_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999


class DataFile(msgspec.Struct, frozen=True):
    """A file that holds some rows of a table.

    Attributes:
        path: relative to the table's folder.
        run: the run of all its rows.
        size: in bytes.
        stats: Delta's statistics, as JSON: the number of rows, and smallest, largest and missing
            values of columns.
        portions: its rows, counted, if they were.
    """

    table: str
    path: str
    run: str
    size: int
    stats: str
    portions: tuple[Portion, ...] = ()


def is_ours(name: str) -> bool:
    """Return whether a file name is one that a table's writers give to data files."""
    return _NAME.fullmatch(name) is not None


def write_file(folder: Path, table: str, rows: pa.Table, schema: pa.Schema) -> DataFile:
    """Write rows of one run into a new file of a table, and wait until they are on disk.

    Args:
        folder: the folder of all tables.
        rows: at least one.
        schema: the table's; columns that the rows lack are null.

    Raises:
        OSError: the folder cannot be written.
    """
    run = rows[RUN][0].as_py()
    kept = conformed(rows, schema).drop_columns([RUN])
    # Partition folders are named as Delta's writers do; readers use the log only.
    path = f"{RUN}={quote(run, safe='')}/part-00000-{uuid.uuid4()}-c000.snappy.parquet"
    written = pa.BufferOutputStream()
    pq.write_table(kept, written)
    content = written.getvalue()
    write_new(folder / table / path, content.to_pybytes())
    return DataFile(table, path, run, content.size, _STATS.encode(_stats(kept)).decode())


def add_action(folder: Path, file: DataFile) -> dict[str, Any]:
    """Return the action of Delta's log that makes a file part of its table.

    Args:
        folder: the table's.

    Raises:
        UnseenFile: the file is not where this process looks for it, or has another size.
    """
    place = folder / file.path
    size = place.stat().st_size if place.is_file() else None
    if size != file.size:
        found = "it is not there" if size is None else f"it has {size:,} bytes there"
        msg = (
            f"an executor has written {place} ({file.size:,} bytes), and for the driver {found}: "
            "executors write large results themselves, so the folder of tables must be on a file "
            "system that all machines share"
        )
        raise UnseenFile(msg)
    return {
        "path": quote(file.path, safe="/="),
        "partitionValues": {RUN: file.run},
        "size": file.size,
        "modificationTime": time.time_ns() // 1_000_000,
        "dataChange": True,
        "stats": file.stats,
    }


# Bounds of decimals are numbers with all of their digits.
_STATS: Final = msgspec.json.Encoder(decimal_format="number")


def _stats(rows: pa.Table) -> dict[str, Any]:
    """Return Delta's statistics of all columns that can be ordered.

    Where one column has statistics and another has none, deltalake takes the missing bounds of the
    other for null, and filters lose rows: so none is left out.
    """
    least, most, missing = {}, {}, {}
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        least[name], most[name], missing[name] = _bounds(column)
    stats = {"minValues": least, "maxValues": most, "nullCount": missing}
    return {"numRecords": len(rows), **{name: _known(part) for name, part in stats.items()}}


def _known(part: dict[str, Any]) -> dict[str, Any]:
    known = {name: _known(v) if isinstance(v, dict) else v for name, v in part.items()}
    return {name: value for name, value in known.items() if value not in (None, {})}


def _bounds(column: pa.ChunkedArray) -> tuple[Any, Any, Any]:
    """Return the smallest and largest value of a column and its number of nulls, or of its fields.

    Bounds may be wider than the values; None: unknown, or there is no value.
    """
    type_ = column.type
    if pa.types.is_struct(type_):
        parts = {part.name: _bounds(pc.struct_field(column, [part.name])) for part in type_}
        low, high, nulls = ({name: part[i] for name, part in parts.items()} for i in range(3))
        return low, high, nulls
    if pa.types.is_list(type_):
        return None, None, None
    ends = pc.min_max(column.cast(pa.int64()) if pa.types.is_timestamp(type_) else column)
    least, most = ends["min"].as_py(), ends["max"].as_py()
    return (*_rounded(column, least, most), column.null_count)


def _rounded(column: pa.ChunkedArray, low: Any, high: Any) -> tuple[Any, Any]:
    """Return bounds of a column's values as Delta spells them; None: unknown."""
    type_ = column.type
    if low is None:
        return None, None
    if pa.types.is_timestamp(type_):
        # Milliseconds of the years 1 to 9999; others cannot be spelled in a query either.
        bounds_ms = (min(max(_FIRST_MS, ms), _LAST_MS) for ms in (low // 1_000, -(-high // 1_000)))
        low, high = map(_spelled, bounds_ms)
    elif pa.types.is_floating(type_) and not pc.all(pc.is_finite(column)).as_py():
        return None, None
    elif pa.types.is_date(type_):
        low, high = low.isoformat(), high.isoformat()
    elif pa.types.is_string(type_):
        most = tuning().statistics_text_max
        low, high = low[:most], high if len(high) <= most else high[:most] + _LAST
    return low, high


def _spelled(instant_ms: int) -> str:
    instant = pa.scalar(instant_ms, pa.timestamp("ms")).as_py()
    return str(instant.isoformat(timespec="milliseconds")) + "Z"


INLINE_SETTING: Final = "spark.slackwater.tables.inlineBytes"
"""The session's setting that replaces the threshold `inline_result_bytes`."""

EMISSIONS: Final = pa.schema(
    [("kind", pa.string()), ("query", pa.string()), ("frame", pa.binary())]
)
"""What a stage of shards emits."""


@dataclass(frozen=True)
class FileStage:
    """The stage for one batch; for `mapInArrow`, from and to rows of `EMISSIONS`.

    Attributes:
        file: the pipeline file, as `windowing.spark.storage.shipped.packed` returns it.
        folder: the folder of the tables, shared by driver and executors.
        schemas: the tables' columns, by name.
        inline_bytes: results up to this size in one task are passed on, larger ones written.
    """

    file: bytes
    run: str
    batch_id: int
    folder: Path
    schemas: Mapping[str, pa.Schema]
    inline_bytes: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Process one task's frames."""
        frames = [
            SinkFrame(*row)
            for batch in batches
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        ]
        columns = zip(*self.of(frames), strict=True)
        arrays = [pa.array(c, field.type) for c, field in zip(columns, EMISSIONS, strict=False)]
        if arrays:
            yield pa.RecordBatch.from_arrays(arrays, schema=EMISSIONS)

    def of(self, frames: Sequence[SinkFrame]) -> list[SinkFrame]:
        """Return a task's frames, with those of large results replaced by their files.

        Metrics always stay: they are small, and a batch's token may be derived from them. Where the
        queries change, nothing is written.
        """
        if changes := [one for one in frames if one.kind == CHANGE]:
            return changes
        results = [one for one in frames if one.kind != METRIC]
        if sum(len(one.frame) for one in results) <= self.inline_bytes:
            took_effect("rows to the driver", len(results))
            return [*frames]
        written = [
            self._write(name, rows)
            for name, rows in _rows(self.file, self.run).tables(results, self.batch_id).items()
            if len(rows)
        ]
        named = [SinkFrame(DATA_FILE, file.table, msgspec.json.encode(file)) for file in written]
        return [*(one for one in frames if one.kind == METRIC), *named]

    def _write(self, name: str, rows: pa.Table) -> DataFile:
        """Write a file, and count what is in it while its rows are at hand."""
        file = write_file(self.folder, name, rows, self.schemas[name])
        took_effect("files by executors", len(rows))
        return msgspec.structs.replace(file, portions=tuple(portions_of({name: rows})))


def files_of(frames: Sequence[SinkFrame]) -> dict[str, list[DataFile]]:
    """Return the files that frames name, by table."""
    files: dict[str, list[DataFile]] = {}
    for one in frames:
        if one.kind == DATA_FILE:
            file = msgspec.json.decode(bytes(one.frame), type=DataFile)
            files.setdefault(file.table, []).append(file)
    return files


@lru_cache(maxsize=8)
def _rows(file: bytes, run: str) -> BatchRows:
    return BatchRows(unpacked(file), run)
