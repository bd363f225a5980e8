"""An in-memory sink, for runs over a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windowing.engine.families.due_rows import RowsByQuery
from windowing.engine.storage.frames import from_bytes
from windowing.model import Pipeline
from windowing.runtime.local import Output
from windowing.runtime.output import (
    DEAD_LETTER,
    EARLY,
    METRIC,
    RESULT,
    SinkFrame,
    count,
    reach,
    rows_of,
)
from windowing.runtime.token import Token, admit
from windowing.spark.sinks.tokens import Frames, TokenOf, token_of_batch

if TYPE_CHECKING:  # rows are also built and checked without Spark
    from pyspark.sql import DataFrame


class MemorySink:
    """A collector of rows and dead letters, which ignores a rewritten batch.

    Args:
        token_of: returns the token of a batch; None: derive it from the lanes' metrics.
    """

    def __init__(self, pipeline: Pipeline, token_of: TokenOf | None = None) -> None:
        self._pipeline, self._token_of = pipeline, token_of
        self._queries = {query.name: query for query in pipeline.flows}
        self._apart = RowsByQuery(pipeline)
        self.tokens: dict[int, Token] = {}
        self.output = Output()

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Take one batch; for `foreachBatch`."""
        self.take(
            [SinkFrame(kind, query, bytes(data)) for kind, query, data in batch.collect()], batch_id
        )

    def take(self, frames: Frames, batch_id: int) -> None:
        """Take one batch's frames, each with its kind, its query and its bytes.

        Raises:
            TokenMismatch: it is neither the next batch nor one already taken.
        """
        token = token_of_batch(self._pipeline, frames, batch_id, self._token_of)
        admit(token, self.tokens, "this process")
        if batch_id in self.tokens:
            return
        self.tokens[batch_id] = token
        for kind, query, data in frames:
            if kind == RESULT and query is not None:
                for name, frame in self._apart.of(query, from_bytes(data)):
                    self.output.rows += rows_of(self._queries[name], self._pipeline, frame)
            elif kind == EARLY and query is not None:
                frame = from_bytes(data)
                early = rows_of(self._queries[query], self._pipeline, frame, early=True)
                self.output.early += early
            elif kind == DEAD_LETTER:
                self.output.take_letters(self._pipeline, data)
            elif kind == METRIC:
                reach(self.output.lanes, data)
                count(self.output.counts, self._pipeline.source.fates, data)
