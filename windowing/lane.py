"""A lane: the sequential state of one partition – order, progress, lateness.

Whether a record is late is decided here, by the lane's own progress before the record, and is
therefore a fact of the log. What leaves a lane knows nothing of disorder any more: partial states
of slices, each with the windows that accept it and, for late records, the epoch that releases it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
import polars as pl

from windowing.assign import Assigned, Assigner, Scan
from windowing.errors import CheckpointMismatch, OffsetGap, RedeliveredOffset
from windowing.frames import to_bytes
from windowing.pack import BAD, BOUND, DATA, END, OBSERVED
from windowing.parcel import METRIC_SCHEMA, Parcel
from windowing.progress import generator_of
from windowing.spec import Pipeline
from windowing.state import StateStore
from windowing.wids import ENDED, NOTHING_YET, Ints

_KEY = "lane"


class LaneState(msgspec.Struct, array_like=True):
    """All that a lane remembers.

    Attributes:
        fingerprint: of the pipeline that wrote it.
        last_offset: the last offset seen; -1 before the first.
        progress_us: the running maximum of the bounds.
        memory: what the generator of progress remembers.
    """

    fingerprint: str
    last_offset: int = -1
    progress_us: int = NOTHING_YET
    memory: list[int] = []


class Lane:
    """Steps one partition through its chunks.

    Args:
        pipeline: the pipeline.
        partition: which partition of its topic.
        redelivered: what an offset means that the lane has passed: an `error` where the engine
            never resends, or a counted no-op (`skip`).
    """

    def __init__(
        self, pipeline: Pipeline, partition: int, redelivered: Literal["error", "skip"] = "skip"
    ) -> None:
        self._pipeline, self._partition, self._redelivered = pipeline, partition, redelivered
        self._name = pipeline.source.lane(partition)
        self._generator = generator_of(pipeline.source.disorder, self._name)
        self._assigners = [Assigner(query, pipeline) for query in pipeline.queries]

    def step(self, store: StateStore, chunks: Sequence[pl.DataFrame]) -> list[Parcel]:
        """Take the chunks of one batch, in any order, and give one parcel for every shard.

        Raises:
            RedeliveredOffset, OffsetGap: the chunks do not continue the lane.
            CheckpointMismatch: the state belongs to another pipeline.
        """
        state = self._load(store)
        chunk = pl.concat(chunks).sort("offset")
        fresh = self._fresh(chunk, state)
        scan = self._scan(fresh, state.progress_us, state.memory)
        assigned = [assigner.assign(scan) for assigner in self._assigners]
        if len(fresh):
            state.last_offset = int(fresh["offset"][-1])
        state.progress_us = scan.after_us
        store.put(_KEY, msgspec.msgpack.encode(state))
        parcels = [Parcel(self._partition, scan.after_us) for _ in range(self._pipeline.shards)]
        for assigner, part in zip(self._assigners, assigned, strict=True):
            assigner.post(part.partials, parcels)
        home = parcels[self._partition % len(parcels)]
        dead = pl.concat([scan.dead, *(part.dead for part in assigned)])
        home.dead_letters = to_bytes(dead) if len(dead) else None
        home.metrics = to_bytes(self._metrics(fresh, scan, assigned, len(chunk) - len(fresh)))
        return parcels

    def _load(self, store: StateStore) -> LaneState:
        data = store.get(_KEY)
        fingerprint = self._pipeline.fingerprint
        if data is None:
            return LaneState(fingerprint)
        state = msgspec.msgpack.decode(data, type=LaneState)
        if state.fingerprint != fingerprint:
            msg = (
                f"the state of lane {self._name} was written by another version of pipeline "
                f"{self._pipeline.name} (fingerprint {state.fingerprint}, now {fingerprint}): "
                "start a new run, or restore the pipeline file"
            )
            raise CheckpointMismatch(msg)
        return state

    def _fresh(self, chunk: pl.DataFrame, state: LaneState) -> pl.DataFrame:
        """The rows that the lane has not seen, each offset once."""
        fresh = chunk.filter(pl.col("offset") > state.last_offset)
        fresh = fresh.unique("offset", keep="first", maintain_order=True)
        if self._redelivered == "error" and len(fresh) < len(chunk):
            again = pl.col("offset").is_duplicated() | (pl.col("offset") <= state.last_offset)
            first = chunk.filter(again)["offset"][0]
            msg = (
                f"lane {self._name} got offset {first} again (its last was {state.last_offset}): "
                "source and checkpoint disagree; start a new run to replay"
            )
            raise RedeliveredOffset(msg)
        if self._pipeline.source.dense:
            self._refuse_holes(fresh["offset"].to_numpy(), state.last_offset)
        return fresh

    def _refuse_holes(self, offsets: Ints, last_offset: int) -> None:
        if last_offset >= 0:
            offsets = np.concatenate(([np.int64(last_offset)], offsets))
        holes = np.flatnonzero(np.diff(offsets) != 1)
        if len(holes):
            before, after = offsets[holes[0]], offsets[holes[0] + 1]
            msg = (
                f"lane {self._name} goes from offset {before} to {after}, and its source is "
                "declared dense: records are missing; restore them, or declare dense: false"
            )
            raise OffsetGap(msg)

    def _scan(self, chunk: pl.DataFrame, progress_us: int, memory: list[int]) -> Scan:
        """Run over the rows in order: progress before each, and what came after the end."""
        kind, ts_us = chunk["kind"].to_numpy(), chunk["ts_us"].fill_null(0).to_numpy()
        ended = np.zeros(len(chunk), dtype=bool)
        if progress_us == ENDED:
            ended[:] = True
        elif (kind == END).any():
            ended[int(np.argmax(kind == END)) + 1 :] = True
        bounds = np.full(len(chunk), NOTHING_YET, dtype=np.int64)
        data = (kind == DATA) & ~ended
        # With the windowing attribute and the offset it makes a record's place among all others.
        here = pl.lit(self._partition, dtype=pl.Int32).alias("partition")
        records = chunk.filter(pl.Series(data)).with_columns(here)
        bounds[data] = self._generator.bounds(records, memory)
        bounds[kind == BOUND] = ts_us[kind == BOUND]
        bounds[kind == OBSERVED] = self._generator.observed(ts_us[kind == OBSERVED])
        bounds[kind == END] = ENDED
        running = np.maximum.accumulate(np.concatenate(([np.int64(progress_us)], bounds)))
        bad = (kind == BAD) | ((kind == DATA) & ended)
        reason = pl.when(pl.Series(ended)).then(pl.lit("after_end")).otherwise(pl.col("reason"))
        dead = chunk.select(
            partition=pl.lit(self._partition, dtype=pl.Int32),
            offset="offset",
            query=pl.lit(None, dtype=pl.String),
            reason=reason,
        ).filter(pl.Series(bad))
        return Scan(
            partition=self._partition,
            data=records,
            progress_us=running[:-1][data],
            dead=dead,
            after_us=int(running[-1]),
        )

    def _metrics(
        self, fresh: pl.DataFrame, scan: Scan, parts: Sequence[Assigned], redelivered: int
    ) -> pl.DataFrame:
        offsets = fresh["offset"]
        bad = len(scan.dead)
        rows = [
            {
                "partition": self._partition,
                "query": query.name,
                "read": len(scan.data) + bad,
                "applied": part.applied,
                "outside": part.outside,
                "dropped": part.dropped,
                "dead": bad + len(part.dead),
                "redelivered": redelivered,
                "first_offset": offsets.min(),
                "last_offset": offsets.max(),
                "progress_us": None if scan.after_us == NOTHING_YET else scan.after_us,
                "ended": scan.after_us == ENDED,
            }
            for query, part in zip(self._pipeline.queries, parts, strict=True)
        ]
        return pl.DataFrame(rows, schema=METRIC_SCHEMA)
