"""A sink into this process, for runs over a file."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame

from windowing.counts import count
from windowing.frames import from_bytes
from windowing.local import Output
from windowing.output import dead_letters_of, rows_of
from windowing.spark.stages import DEAD_LETTER, EARLY, METRIC, RESULT
from windowing.spec import Pipeline


class MemorySink:
    """Collects rows and dead letters; a batch that is written again is passed over.

    Args:
        pipeline: whose rows they are.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._queries = {query.name: query for query in pipeline.queries}
        self._batches: set[int] = set()
        self.output = Output()

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Take one batch; made for `foreachBatch`."""
        self.take(((kind, query, bytes(data)) for kind, query, data in batch.collect()), batch_id)

    def take(self, frames: Iterable[tuple[str, str | None, bytes]], batch_id: int) -> None:
        """Take one batch's frames: of each the kind, the query, and the Arrow stream."""
        if batch_id in self._batches:
            return
        self._batches.add(batch_id)
        for kind, query, data in frames:
            if kind == RESULT and query is not None:
                frame = from_bytes(data)
                self.output.rows += rows_of(self._queries[query], self._pipeline, frame)
            elif kind == EARLY and query is not None:
                frame = from_bytes(data)
                early = rows_of(self._queries[query], self._pipeline, frame, early=True)
                self.output.early += early
            elif kind == DEAD_LETTER:
                self.output.dead_letters += dead_letters_of(self._pipeline, data)
            elif kind == METRIC:
                count(self.output.counts, data)
