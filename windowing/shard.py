"""A shard: the windows of a part of the keys – slices, late epochs, revisions, retention.

State is a set of partial states, each naming the windows that it belongs to and, for late records,
the epoch that releases it. What a shard emits when the stream's progress moves from P to P' is a
function of that set, of P and of P' alone (`windowing.emission`): no counters, no flags.

A batch appends one delta; deltas are merged into the base, and what is past retention is let go,
once there are `COMPACT_AFTER` of them. So what is written per batch follows what changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import polars as pl

from windowing.aggregates import Accumulators
from windowing.emission import Emitter
from windowing.errors import CheckpointMismatch
from windowing.frames import from_bytes, to_bytes
from windowing.parcel import Parcel
from windowing.spec import Pipeline
from windowing.state import StateStore
from windowing.wids import ENDED, NOTHING_YET

COMPACT_AFTER = 8

_HEAD, _PARTIALS = "head", "partials/"
_BASE, _DELTA = f"{_PARTIALS}base", f"{_PARTIALS}delta-"


class ShardState(msgspec.Struct, array_like=True):
    """The head of a shard's state; the partial states stand beside it, in base and deltas.

    Attributes:
        fingerprint: of the pipeline that wrote it.
        progress_us: per partition, its lane's progress; lanes not heard of hold the stream back.
        due_us: the earliest instant at which some partial state asks for a row.
        deltas: how many deltas there are.
    """

    fingerprint: str
    progress_us: list[int]
    due_us: int = ENDED
    deltas: int = 0


class _Delta(msgspec.Struct, array_like=True):
    """Partial states as they came: per query, pairs of partition and Arrow stream."""

    partials: dict[str, list[tuple[int, bytes]]]


@dataclass
class Emission:
    """What one step gives to the sink.

    Attributes:
        results: per query, rows as `windowing.emission` describes them.
        dead_letters, metrics: Arrow streams from the lanes, passed through.
    """

    results: dict[str, pl.DataFrame] = field(default_factory=dict)
    dead_letters: list[bytes] = field(default_factory=list)
    metrics: list[bytes] = field(default_factory=list)


class Shard:
    """Steps the windows of one shard's keys.

    Args:
        pipeline: the pipeline.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._emitters = {query.name: Emitter(query, pipeline) for query in pipeline.queries}

    def step(self, store: StateStore, parcels: Sequence[Parcel]) -> Emission:
        """Take one batch's parcels, in any order, at most one per lane, and emit what is due.

        Raises:
            CheckpointMismatch: the state belongs to another pipeline.
            ResultOverflow: a sum of integers leaves 64 bits.
        """
        state = self._load(store)
        before_us = min(state.progress_us)
        self._append(store, state, parcels)
        after_us = min(state.progress_us)
        emission = Emission()
        for parcel in parcels:
            if parcel.dead_letters is not None:
                emission.dead_letters.append(parcel.dead_letters)
            if parcel.metrics is not None:
                emission.metrics.append(parcel.metrics)
        # A bound of ENDED is both "nothing is due" and the end of all lanes, where all is due.
        if after_us > before_us and after_us >= state.due_us:
            partials = self._partials(store)
            state.due_us = self._emit(partials, before_us, after_us, emission)
            if state.deltas >= COMPACT_AFTER:
                self._compact(store, state, partials, after_us)
        elif state.deltas >= 4 * COMPACT_AFTER:
            self._compact(store, state, self._partials(store), after_us)
        store.put(_HEAD, msgspec.msgpack.encode(state))
        return emission

    def _load(self, store: StateStore) -> ShardState:
        data = store.get(_HEAD)
        fingerprint = self._pipeline.fingerprint
        if data is None:
            return ShardState(fingerprint, [NOTHING_YET] * self._pipeline.source.partitions)
        state = msgspec.msgpack.decode(data, type=ShardState)
        if state.fingerprint != fingerprint:
            msg = (
                f"a shard's state was written by another version of pipeline {self._pipeline.name} "
                f"(fingerprint {state.fingerprint}, now {fingerprint}): start a new run, or "
                "restore the pipeline file"
            )
            raise CheckpointMismatch(msg)
        return state

    def _append(self, store: StateStore, state: ShardState, parcels: Sequence[Parcel]) -> None:
        """Take the parcels' progress, and keep their partial states as one delta."""
        delta = _Delta({})
        for parcel in parcels:
            held = state.progress_us[parcel.partition]
            state.progress_us[parcel.partition] = max(held, parcel.progress_us)
            for query, data in parcel.partials.items():
                delta.partials.setdefault(query, []).append((parcel.partition, data))
            if parcel.due_us is not None:
                state.due_us = min(state.due_us, parcel.due_us)
        if delta.partials:
            store.put(f"{_DELTA}{state.deltas:06d}", msgspec.msgpack.encode(delta))
            state.deltas += 1

    def _partials(self, store: StateStore) -> dict[str, pl.DataFrame]:
        """All partial states, per query, with the `partition` that each comes from."""
        frames: dict[str, list[pl.DataFrame]] = {}
        # One scan instead of a call per entry: on Spark a call to the store is what costs.
        for key, data in store.scan(_PARTIALS):
            if key == _BASE:
                for query, stream in msgspec.msgpack.decode(data, type=dict[str, bytes]).items():
                    frames.setdefault(query, []).append(from_bytes(stream))
                continue
            for query, parts in msgspec.msgpack.decode(data, type=_Delta).partials.items():
                for partition, stream in parts:
                    partial = from_bytes(stream).with_columns(
                        partition=pl.lit(partition, dtype=pl.Int32)
                    )
                    frames.setdefault(query, []).append(partial)
        return {query: Accumulators.concat(parts) for query, parts in frames.items()}

    def _emit(
        self, partials: dict[str, pl.DataFrame], before_us: int, after_us: int, emission: Emission
    ) -> int:
        """Emit each query's rows; give the next instant at which anything is due."""
        due_us = ENDED
        for query, frame in partials.items():
            emitter = self._emitters[query]
            rows = emitter.rows(frame, before_us, after_us)
            if len(rows):
                emission.results[query] = rows
            due_us = min(due_us, emitter.next_due_us(frame, after_us))
        return due_us

    def _compact(
        self,
        store: StateStore,
        state: ShardState,
        partials: dict[str, pl.DataFrame],
        after_us: int,
    ) -> None:
        """Merge base and deltas into a new base, without what no row can need any more."""
        kept = {
            query: self._emitters[query].retained(frame, after_us)
            for query, frame in partials.items()
        }
        base = {query: to_bytes(frame) for query, frame in kept.items() if len(frame)}
        store.put(_BASE, msgspec.msgpack.encode(base))
        for number in range(state.deltas):
            store.delete(f"{_DELTA}{number:06d}")
        state.deltas = 0
