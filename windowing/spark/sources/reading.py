"""Streams of raw rows, and how these reach the Python workers.

Either Spark reads the records, and its JVM sends every row to a worker; or Spark only plans which
files a batch has, and the workers read them (`windowing.spark.sources.files`).
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name

from windowing.engine.tuning import tuning
from windowing.spark.memory import giving_back
from windowing.spark.sources.pieces import Batches, Stage, whole_rows

_ROWS = 1_000
BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_NO_LIMIT, _LIMIT = (1 << 31) - 1, 64 << 20

SETTINGS = {"spark.sql.execution.arrow.maxRecordsPerBatch": str(_ROWS), BYTES: str(_LIMIT)}
"""A session's settings, for records of any size."""


@dataclass(frozen=True)
class RawStream:
    """A stream of raw rows (`windowing.spark.stages.RAW_SCHEMA`) as workers see it.

    Attributes:
        stream: what Spark reads: rows in pieces, or the names of files.
        rows: the stage that makes raw rows of it, in batches of some 100,000.
        gives_back: whether workers give free memory to the system when a task ends; where they read
            files themselves, they keep it: to clear it anew would take a twelfth of a batch.
    """

    stream: DataFrame
    rows: Stage
    gives_back: bool = False

    @classmethod
    def by_the_jvm(cls, raw: DataFrame) -> RawStream:
        """Return the stream of raw rows that Spark has read."""
        # PySpark reads the names of columns that it sends to workers as paths: none has a dot.
        names, whole = raw.columns, whole_rows()
        sent = [name if name.isidentifier() else f"_{place}" for place, name in enumerate(names)]

        def named(batches: Batches) -> Batches:
            return whole(batch.rename_columns(names) for batch in batches)

        return cls(in_pieces(raw).toDF(*sent), named, gives_back=True)

    def through(self, stage: Stage, schema: str) -> DataFrame:
        """Return what a stage makes of the raw rows, in the worker that gets or reads them.

        Args:
            stage: from batches of raw rows.
        """
        rows = self.rows

        def processed(batches: Batches) -> Batches:
            return stage(rows(batches))

        whole = giving_back(processed) if self.gives_back else processed
        return self.stream.mapInArrow(whole, schema)


def limit_batches(spark: SparkSession, record_bytes_max: int | None) -> None:
    """Limit the bytes of Arrow batches only if records may be larger than all pieces.

    Args:
        record_bytes_max: how large records may be, in bytes; None: not known.
    """
    most = tuning().value_pieces * (tuning().whole_value_bytes_max + 1)
    is_small = record_bytes_max is not None and record_bytes_max <= most
    spark.conf.set(BYTES, str(_NO_LIMIT if is_small else _LIMIT))


def quoted(name: str) -> Column:
    """Return the column of a name in which dots are no paths, as in names of headers."""
    escaped = name.replace("`", "``")
    return F.col(f"`{escaped}`")


def in_pieces(raw: DataFrame) -> DataFrame:
    """Cut large values: a row for each piece, in order, one after the other.

    The first piece has one byte more than a whole value may have, so that pieces can be
    distinguished from values. The last one has the rest; some may be empty.

    Args:
        raw: rows with a binary `value`, which may be null.
    """
    size = tuning().whole_value_bytes_max + 1
    starts = [number * size + 1 for number in range(tuning().value_pieces)]
    cut = F.array(
        *(F.substring("value", start, size) for start in starts[:-1]),
        F.substring("value", starts[-1], _NO_LIMIT),
    )
    is_whole = F.coalesce(F.length("value"), F.lit(0)) < size
    pieces = F.explode(F.when(is_whole, F.array("value")).otherwise(cut)).alias("value")
    return raw.select(*(pieces if name == "value" else quoted(name) for name in raw.columns))
