"""The stage in which executors write large results into files of the tables.

A task passes on small results as they are, so that a small batch is as fast as ever; of large ones
it writes a file per table, and sends only their names to the driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa

from windowing.engine.effects import took_effect
from windowing.runtime.output import CHANGE, DATA_FILE, METRIC, SinkFrame
from windowing.spark.sinks.data_files import DataFile, write_file
from windowing.spark.sinks.rows import BatchRows
from windowing.spark.sinks.written import portions_of
from windowing.spark.storage.shipped import unpacked

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
