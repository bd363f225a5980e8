"""A recorded checkpoint of Spark: what a stream leaves behind in the middle of its log, and tables.

The stream reads a file a batch (`jobs.file_run`). Its checkpoint knows the files that it has seen,
and the schemas of its state, by their paths, which are corrected where it is unpacked.
"""

from __future__ import annotations

import json
import lzma
import re
import tarfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from tests.strategies import entry
from tests.unit.checkpoints.drawn import CASES, frozen
from windowing.engine.reading.batches import batches
from windowing.engine.reading.pack import RawRows
from windowing.model import Pipeline, parse_pipeline
from windowing.runtime.local import Output

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASE = CASES / "aggregates"
RUN = "recorded"
CHECKPOINT, TABLES = "checkpoint", "tables"
FILE = "spark.tar.xz"
_BATCH_ROWS = 12
_PLACE = re.compile(rb'(file:(?://)?)/[^"\s]*?/(batches|checkpoint)(?=/)')


def pipeline() -> Pipeline:
    """The pipeline that is recorded on Spark."""
    return parse_pipeline(frozen((CASE / "pipeline.yml").read_text(encoding="utf-8")))


def cuts() -> list[dict[int, RawRows]]:
    """Its log in batches; the state holds the first half of them."""
    lines = (CASE / "events.jsonl").read_text(encoding="utf-8").splitlines()
    return [*batches((entry(json.loads(line)) for line in lines), _BATCH_ROWS, pipeline())]


def go_on(
    spark: SparkSession, folder: Path, end: int | None = None, *, tables: bool = False
) -> Output:
    """Run the batches that the checkpoint in a folder has not; it may not be there yet.

    Args:
        spark: a session of our settings.
        folder: where checkpoint and tables are, or come to be.
        end: the first batch to be left out; None: to the end of the log.
        tables: write tables, too.
    """
    from jobs.file_run import finish, one_file_a_batch
    from windowing.spark.plan import emissions
    from windowing.spark.sinks import MemorySink, TableSink

    own, own_cuts = pipeline(), cuts()
    memory, table = MemorySink(own), TableSink(own, folder / TABLES, RUN) if tables else None

    def write(batch: object, batch_id: int) -> None:
        frames = batch.collect()  # type: ignore[attr-defined]
        memory.take(frames, batch_id)
        if table is not None:
            table.take(frames, batch_id)

    raw = one_file_a_batch(spark, own_cuts[:end], folder)
    finish(emissions(raw, own), write, folder)
    return memory.output


def pack(folder: Path, file: Path) -> None:
    """Put checkpoint and tables into a file that is not there yet."""
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in (CHECKPOINT, TABLES):
            archive.add(folder / name, name, filter=_nobodys)
    with file.open("xb") as target:
        target.write(lzma.compress(packed.getvalue(), preset=9))


def _nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Without who made it and when; checksums that Hadoop writes beside each file are kept."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def unpack(file: Path, folder: Path) -> None:
    """Put checkpoint and tables where `go_on` finds them."""
    with tarfile.open(fileobj=BytesIO(lzma.decompress(file.read_bytes()))) as archive:
        # Python has no filters before 3.11.4; the archive is of our own making.
        safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(folder, **safe)  # type: ignore[arg-type]  # noqa: S202 - ours
    for part in (folder / CHECKPOINT).rglob("*"):
        checksum = part.with_name(f".{part.name}.crc")
        if part.is_file() and _PLACE.search(data := part.read_bytes()):
            part.write_bytes(_PLACE.sub(rb"\1" + str(folder).encode() + rb"/\2", data))
            checksum.unlink(missing_ok=True)


def table_rows(folder: Path) -> int:
    """How many rows the tables of all queries hold."""
    from deltalake import DeltaTable

    places = [folder / TABLES / query.name for query in pipeline().flows]
    return sum(len(DeltaTable(str(place)).to_pyarrow_table()) for place in places)


def halves() -> tuple[int, int]:
    """The number of the batch at which the log is cut in two, and of all batches."""
    count = len(cuts())
    return count // 2, count
