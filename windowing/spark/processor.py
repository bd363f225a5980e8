"""A stage as a stateful operator of Spark's: its state a map state, its rows pandas frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from windowing.spark.stages import LaneStage, ShardStage
from windowing.spark.storage.copies import Copies
from windowing.spark.storage.slots import number_of
from windowing.spark.storage.store import MapStateStore

# As types and not as text, which every task would have the JVM parse.
_KEY = StructType([StructField("key", StringType())])
_VALUE = StructType([StructField("value", BinaryType())])


def store_of_key(
    handle: StatefulProcessorHandle, copies: Copies | None = None
) -> Callable[[], MapStateStore]:
    """Return what makes the store of the current grouping key; to be called in `init`.

    Args:
        copies: this worker's, of large values; None: it keeps none.
    """
    state = handle.getMapState("state", _KEY, _VALUE)
    return partial(MapStateStore, state, copies)


def stepped(
    stage: LaneStage | ShardStage, number: int, rows: Iterator[pd.DataFrame]
) -> pd.DataFrame:
    """Run a step of a stage, over rows as Spark gives them; return rows as it takes them."""
    messages = [message for frame in rows for message in frame[stage.takes]]
    return pd.DataFrame(stage.step(number, messages), columns=list(stage.gives))


class Processor(StatefulProcessor):  # type: ignore[misc]  # pyspark is untyped
    """An operator with a lane or a shard for each key."""

    def __init__(self, stage: LaneStage | ShardStage) -> None:
        self._stage = stage

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Initialise; Spark calls this once per task."""
        self._stage.open(store_of_key(handle, self._stage.copies()))

    def handleInitialState(  # noqa: N802 - the name is Spark's
        self,
        key: Any,
        initialState: pd.DataFrame,  # noqa: N803
        timerValues: Any,  # noqa: N803
    ) -> None:
        """Store a part of the key's seed, in the first batch."""
        del key, timerValues
        self._stage.begin_with(zip(initialState["key"], initialState["value"], strict=True))

    def handleInputRows(  # noqa: N802 - the name is Spark's
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Process all messages for one lane or shard in this batch."""
        del timerValues
        yield stepped(self._stage, number_of(int(key[0])), rows)

    def close(self) -> None:
        """Do nothing: Spark owns the state."""
