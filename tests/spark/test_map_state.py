"""The simulator's map state does what Spark's does, call by call, also below the store."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from chaos.simulator.platform.state import SimulatedMap
from windowing.spark.plan import store_of_key
from windowing.spark.storage.store import Copies, MapStateStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAMES = ["", "a", "a\x01", "b/1", "b/2", "ü", "long " * 30]
ON_MAP = ["updateValue", "updateValue", "updateValue", "getValue", "removeKey", "iterator"]
ON_STORE = ["put", "put", "put", "get", "delete", "scan"]
KEYS, BATCHES, CALLS = 2, 6, 40
Call = tuple[str, str, int]


def drawn(rng: Random, number: int) -> list[Call]:
    """What a step calls; the store's steps are last, and find nothing that is not its own."""
    known = ON_MAP if number < BATCHES // 2 else ON_STORE
    calls = [(rng.choice(known), rng.choice(NAMES), at) for at in range(CALLS)]
    gone = [("removeKey", name, 0) for name in NAMES] if number == BATCHES // 2 - 1 else []
    return [*calls, *gone]


def value_of(number: int) -> bytes:
    return bytes([number]) * (0, 1, 300, 5_000)[number % 4]


def answers(opened: Any, calls: list[Call]) -> list[str]:
    """What the calls of a step return, as text, given what `store_of_key` has returned."""
    if calls[0][0] in ON_STORE:
        store = opened()
        return [repr(_of_store(store, *call)) for call in calls]
    state = opened.args[0]
    return [repr(_of_map(state, *call)) for call in calls]


def _of_store(store: Any, name: str, key: str, number: int) -> Any:
    if name == "put":
        return store.put(key, value_of(number))
    return [*store.scan(key[:1])] if name == "scan" else getattr(store, name)(key)


def _of_map(state: Any, name: str, key: str, number: int) -> Any:
    match name:
        case "updateValue":
            return state.updateValue((key,), (value_of(number),))
        case "getValue":
            found = state.getValue((key,))
            return None if found is None else bytes(found[0])
        case "removeKey":
            return state.removeKey((key,))
        case "iterator":
            return sorted((one[0], bytes(value[0])) for one, value in state.iterator())
    raise AssertionError(name)


class Answers(StatefulProcessor):  # type: ignore[misc]  # pyspark is untyped
    """Calls the state of each key as its row says."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def init(self, handle: Any) -> None:
        self._opened = store_of_key(handle, Copies(self._folder))

    def handleInputRows(  # noqa: N802 - the name is Spark's
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        [calls] = [json.loads(one) for frame in rows for one in frame["calls"]]
        found = answers(self._opened, calls)
        yield pd.DataFrame({"key": [int(key[0])], "answers": [json.dumps(found)]})

    def close(self) -> None:
        pass


def test_a_simulated_map_state_is_one(spark: SparkSession, tmp_path: Path) -> None:
    rng, found, log = Random(7), list[dict[int, list[str]]](), tmp_path / "log"
    log.mkdir()
    batches = [{key: drawn(rng, n) for key in range(KEYS)} for n in range(BATCHES)]
    for number, batch in enumerate(batches):
        lines = [json.dumps({"key": key, "calls": json.dumps(own)}) for key, own in batch.items()]
        file = log / f"{number}.json"
        file.write_text("\n".join(lines))
        os.utime(file, (number, number))  # batches follow them

    def collect(batch: DataFrame, number: int) -> None:
        del number
        found.append({row.key: json.loads(row.answers) for row in batch.collect()})

    rows = spark.readStream.schema("key int, calls string").option("maxFilesPerTrigger", 1)
    by_key = rows.json(str(log)).groupBy("key")
    (tmp_path / "copies").mkdir()
    answered = by_key.transformWithStateInPandas(
        Answers(tmp_path / "copies"), "key int, answers string", "Append", "None"
    )
    query = answered.writeStream.foreachBatch(collect).trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()

    own: Any = [SimulatedMap({}) for _ in range(KEYS)]
    opened = [partial(MapStateStore, state, Copies(tmp_path)) for state in own]
    assert len(found) == BATCHES
    for batch, told in zip(batches, found, strict=True):
        for key, calls in batch.items():
            assert answers(opened[key], calls) == told[key]
