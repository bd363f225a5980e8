"""The two stages of a fused job, without what they compute.

Rows are read, sent to Python and counted there; each shard adds the counts to its state. Whatever
is computed in Spark's Python operators pays for this first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from windowing.spark.processor import store_of_key
from windowing.spark.sources.reading import RawStream
from windowing.spark.storage.slots import slot_of


def bare_stages(raw: RawStream, shards: int) -> DataFrame:
    """Return how many rows there are for each shard, batch by batch."""

    def counts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        slots = [slot_of(shard) for shard in range(shards)]
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"slot": slots, "n": [batch.num_rows] * shards})

    rows = raw.through(counts, "slot long, n long")
    return rows.groupBy("slot").transformWithStateInPandas(_Total(), "n long", "Append", "None")


class _Total(StatefulProcessor):  # type: ignore[misc]  # pyspark is untyped
    def init(self, handle: StatefulProcessorHandle) -> None:
        self._store = store_of_key(handle)

    def handleInputRows(  # noqa: N802 - the name is Spark's
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        store = self._store()
        total = int.from_bytes(store.get("n") or b"")
        total += sum(int(frame["n"].sum()) for frame in rows)
        store.put("n", total.to_bytes(8))
        yield pd.DataFrame({"n": [total]})

    def close(self) -> None:
        """Do nothing: Spark owns the state."""
