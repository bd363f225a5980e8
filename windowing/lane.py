"""A lane: the sequential state of one partition – order, progress, lateness.

Whether a record is late is decided here, by the lane's own progress before the record, and is
therefore a fact of the log. What leaves a lane knows nothing of disorder any more: partial states
of slices, each with the windows that accept it and, for late records, the epoch that releases it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
import polars as pl

from windowing.assign.assigner import Assigned, Scan
from windowing.classes import class_of
from windowing.errors import OffsetGap, RedeliveredOffset
from windowing.frames import to_bytes
from windowing.pack import BAD, BOUND, DATA, END, OBSERVED
from windowing.parcel import METRIC_SCHEMA, Parcel
from windowing.progress import generator_of
from windowing.progress.reached import Reached
from windowing.spec import Pipeline
from windowing.state import StateStore, check_fingerprint
from windowing.wids import ENDED, NOTHING_YET, Flags, Ints

_KEY, _MEMORY = "lane", "memory/"


class Clock(msgspec.Struct, array_like=True):
    """A lane's progress by one windowing attribute.

    Attributes:
        reached: how far it is.
        memory: what its generator remembers.
    """

    reached: Reached
    memory: list[int] = []


class LaneState(msgspec.Struct, array_like=True):
    """The head of a lane's state; what assigners remember stands beside it.

    Attributes:
        fingerprint: of the pipeline that wrote it.
        clocks: by windowing attribute.
        last_offset: the last offset seen; -1 before the first.
    """

    fingerprint: str
    clocks: dict[str, Clock]
    last_offset: int = -1

    @property
    def ended(self) -> bool:
        """Whether the lane has ended; it ends by every attribute at once."""
        return any(clock.reached.progress_us == ENDED for clock in self.clocks.values())


@dataclass(frozen=True)
class Rows:
    """The rows of a chunk that the lane has not seen, sorted out.

    Attributes:
        all: every row, in offset order.
        data: the records among them.
        is_data: which rows those are.
        dead: dead letters of values that no query can use.
    """

    all: pl.DataFrame
    data: pl.DataFrame
    is_data: Flags
    dead: pl.DataFrame


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
        self._attribute = pipeline.source.event_time.field
        self._assigners = {
            query.name: class_of(query).assigner(query, pipeline) for query in pipeline.queries
        }

    def step(self, store: StateStore, chunks: Sequence[pl.DataFrame]) -> list[Parcel]:
        """Take the chunks of one batch, in any order, and give one parcel for every shard.

        Raises:
            RedeliveredOffset, OffsetGap: the chunks do not continue the lane.
            CheckpointMismatch: the state belongs to another pipeline.
        """
        state = self._load(store)
        chunk = pl.concat(chunks).sort("offset")
        fresh = self._fresh(chunk, state)
        rows = self._sorted_out(fresh, state.ended)
        scan = self._scan(rows, state.clocks[self._attribute])
        assigned = self._assign(store, scan)
        if len(fresh):
            state.last_offset = int(fresh["offset"][-1])
        store.put(_KEY, msgspec.msgpack.encode(state))
        reached = {name: clock.reached for name, clock in state.clocks.items()}
        parcels = [Parcel(self._partition, reached) for _ in range(self._pipeline.shards)]
        for name, part in assigned.items():
            self._assigners[name].post(part.tables, parcels)
        home = parcels[self._partition % len(parcels)]
        dead = pl.concat([rows.dead, *(part.dead for part in assigned.values())])
        home.dead_letters = to_bytes(dead) if len(dead) else None
        home.metrics = to_bytes(self._metrics(rows, scan, assigned, len(chunk) - len(fresh)))
        return parcels

    def _load(self, store: StateStore) -> LaneState:
        data = store.get(_KEY)
        fingerprint = self._pipeline.fingerprint
        if data is None:
            return LaneState(fingerprint, {self._attribute: Clock(Reached())})
        state = msgspec.msgpack.decode(data, type=LaneState)
        check_fingerprint(f"lane {self._name}", state.fingerprint, self._pipeline)
        return state

    def _assign(self, store: StateStore, scan: Scan) -> dict[str, Assigned]:
        """Let every query's assigner have the chunk, and keep what it must remember."""
        assigned = {}
        for name, assigner in self._assigners.items():
            part = assigner.assign(scan, store.get(_MEMORY + name))
            if part.memory is not None:
                store.put(_MEMORY + name, part.memory)
            assigned[name] = part
        return assigned

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

    def _sorted_out(self, chunk: pl.DataFrame, ended: bool) -> Rows:
        """Tell records from control records, bad values, and what came after the end."""
        kind = chunk["kind"].to_numpy()
        after_end = np.full(len(chunk), ended)
        if not ended and (kind == END).any():
            after_end[int(np.argmax(kind == END)) + 1 :] = True
        is_data = (kind == DATA) & ~after_end
        bad = (kind == BAD) | ((kind == DATA) & after_end)
        reason = pl.when(pl.Series(after_end)).then(pl.lit("after_end")).otherwise(pl.col("reason"))
        dead = chunk.select(
            partition=pl.lit(self._partition, dtype=pl.Int32),
            offset="offset",
            query=pl.lit(None, dtype=pl.String),
            reason=reason,
        ).filter(pl.Series(bad))
        # With the windowing attribute and the offset it makes a record's place among all others.
        here = pl.lit(self._partition, dtype=pl.Int32).alias("partition")
        records = chunk.filter(pl.Series(is_data)).with_columns(here)
        return Rows(chunk, records, is_data, dead)

    def _scan(self, rows: Rows, clock: Clock) -> Scan:
        """Run over the rows in order, for the progress before each record; move the clock."""
        kind = rows.all["kind"].to_numpy()
        ts_us = rows.all["ts_us"].fill_null(0).to_numpy()
        bounds = np.full(len(rows.all), NOTHING_YET, dtype=np.int64)
        bounds[rows.is_data] = self._generator.bounds(rows.data, clock.memory)
        bounds[kind == BOUND] = ts_us[kind == BOUND]
        bounds[kind == OBSERVED] = self._generator.observed(ts_us[kind == OBSERVED])
        # Nothing but `end` ends a lane, and what stands behind it says nothing any more.
        bounds = np.minimum(bounds, ENDED - 1)
        bounds[kind == END] = ENDED
        held = clock.reached
        running = np.maximum.accumulate(np.concatenate(([np.int64(held.progress_us)], bounds)))
        finite = running[running < ENDED]
        values = rows.data["ts_us"].to_numpy()
        clock.reached = Reached(
            progress_us=int(running[-1]),
            furthest_us=max(held.furthest_us, int(finite.max(initial=NOTHING_YET))),
            newest_us=max(held.newest_us, int(values.max(initial=NOTHING_YET))),
        )
        return Scan(self._partition, rows.data, running[:-1][rows.is_data], clock.reached)

    def _metrics(
        self, rows: Rows, scan: Scan, parts: Mapping[str, Assigned], redelivered: int
    ) -> pl.DataFrame:
        offsets, progress_us = rows.all["offset"], scan.reached.progress_us
        bad = len(rows.dead)
        counts = [
            {
                "partition": self._partition,
                "query": name,
                "read": len(rows.data) + bad,
                "applied": part.applied,
                "outside": part.outside,
                "dropped": part.dropped,
                "dead": bad + len(part.dead),
                "redelivered": redelivered,
                "first_offset": offsets.min(),
                "last_offset": offsets.max(),
                "progress_us": None if progress_us == NOTHING_YET else progress_us,
                "ended": progress_us == ENDED,
            }
            for name, part in parts.items()
        ]
        return pl.DataFrame(counts, schema=METRIC_SCHEMA)
