"""Streams of raw rows, and how these reach the Python workers.

Either Spark reads the records, and its JVM sends every row to a worker; or Spark only plans which
files a batch has, and the workers read them (`windowing.spark.files`).
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from windowing.spark.memory import giving_back
from windowing.spark.pieces import Batches, Stage, in_pieces, whole_rows


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
        return cls(in_pieces(raw), whole_rows(), gives_back=True)

    def through(self, stage: Stage, schema: str) -> DataFrame:
        """Return what a stage makes of the raw rows, in the worker that gets or reads them.

        Args:
            stage: from batches of raw rows.
            schema: of its batches.
        """
        rows = self.rows

        def processed(batches: Batches) -> Batches:
            return stage(rows(batches))

        whole = giving_back(processed) if self.gives_back else processed
        return self.stream.mapInArrow(whole, schema)
