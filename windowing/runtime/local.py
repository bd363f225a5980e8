"""The local engine: lanes and shards over batches, in one process, with no broker and no clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from windowing.engine.changes import after_all
from windowing.engine.convert import convert
from windowing.engine.families.due_rows import RowsByQuery
from windowing.engine.fused.scanner import Scanner
from windowing.engine.fused.settler import Settler
from windowing.engine.lane import Lane, check_lane
from windowing.engine.plan import Plan, plan_of
from windowing.engine.reading.control import Gate
from windowing.engine.reading.pack import RawRows, pack
from windowing.engine.reading.refusals import Detail
from windowing.engine.reading.rules import ValueRules
from windowing.engine.shard import Emission, Shard
from windowing.engine.storage.parcel import Parcel
from windowing.engine.storage.state import MemoryStore
from windowing.model import Pipeline
from windowing.model.fates import Counts
from windowing.model.rows import DeadLetter, Row
from windowing.model.standing import LaneEnd, Waiting
from windowing.runtime.output import count, details_of, reach, rows_of, waiting


@dataclass
class Output:
    """The output of a run.

    Attributes:
        rows: results, in the order of emission.
        early: provisional rows of then open windows; outside the promise.
        details: what was wrong with each dead letter.
        lanes: how far each lane is, by its number; without those that had nothing.
        held_back: by query with `having`, how many rows were not sent.
    """

    rows: list[Row] = field(default_factory=list)
    early: list[Row] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    counts: dict[str, Counts] = field(default_factory=dict)
    details: dict[DeadLetter, Detail] = field(default_factory=dict)
    lanes: dict[int, LaneEnd] = field(default_factory=dict)
    held_back: Counter[str] = field(default_factory=Counter)

    def take_letters(self, pipeline: Pipeline, data: bytes) -> None:
        """Add the dead letters of a lane's frame."""
        for letter, detail in details_of(pipeline, data):
            self.dead_letters.append(letter)
            self.details[letter] = detail


@dataclass(frozen=True)
class Snapshot:
    """The state of an engine's lanes and shards: a checkpoint; fused, lanes have none."""

    lanes: tuple[dict[str, bytes], ...]
    shards: tuple[dict[str, bytes], ...]


class LocalEngine:
    """The runner of one pipeline's lanes and shards.

    Redelivered records are no-ops: feeding a batch again changes nothing.

    Args:
        fused: whether to run the fused plan, which must apply (`Plan.why_lanes`).
        chunk_rows: with the fused plan, how many rows of a lane's batch are scanned at once, as if
            each chunk came from its own task; None: all.

    Attributes:
        pipeline: what it runs: the pipeline, with all changes of its queries so far.
        shard: the processor of all shards, which differ only in their state.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        fused: bool = False,
        chunk_rows: int | None = None,
    ) -> None:
        self._as_asked, self._chunk_rows = fused, chunk_rows
        self.output = Output()
        self._run(pipeline)

    def _run(self, pipeline: Pipeline) -> None:
        self.pipeline, self.plan = pipeline, plan_of(pipeline)
        self._fused = _FusedPlan(self.plan, self._chunk_rows) if self._as_asked else None
        self._rules = [ValueRules.of(pipeline, number) for number in range(self.plan.lanes)]
        lanes = () if self._as_asked else range(self.plan.lanes)
        self._lanes = [(Lane(self.plan, n), MemoryStore()) for n in lanes]
        self.shard = Shard(self.plan)
        self._shards = [(self.shard, MemoryStore()) for _ in range(self.plan.shards)]
        self._queries = {query.name: query for query in pipeline.flows}
        self._apart = RowsByQuery(pipeline)

    @property
    def lanes(self) -> list[Lane]:
        """The lanes, by number; none with the fused plan."""
        return [lane for lane, _ in self._lanes]

    def feed(self, batch: Mapping[int, RawRows], wall_us: int | None = None) -> list[Emission]:
        """Process one batch; return what each shard emitted, also added to `output`.

        Args:
            batch: by lane number, the rows in increasing offset.
            wall_us: the caller's clock, for early rows only.

        If the log changes the queries, the batch is run again with a plan that knows them.

        Raises:
            UndeclaredPartition: a lane is not the pipeline's.
        """
        for number in batch:
            check_lane(self.pipeline.source, number)
        before = self.snapshot() if self._may_change(batch) else None
        emissions = self._emissions(batch, wall_us)
        while before is not None:
            taken = [one for emission in emissions for one in emission.taken]
            if not taken:
                break
            before = self._change(after_all(self.pipeline, taken), before)
            emissions = self._emissions(batch, wall_us)
        for emission in emissions:
            self._collect(emission)
        return emissions

    def _may_change(self, batch: Mapping[int, RawRows]) -> bool:
        """Return whether a batch may change the queries: state before it is needed then."""
        if all(part.control.believe != "all" for part in self.pipeline.source.parts):
            return False
        return any(control is not None for rows in batch.values() for control in rows.controls)

    def _change(self, after: Pipeline, state: Snapshot) -> Snapshot:
        """Go on from a state with a changed pipeline; return what that state is then."""
        lanes, shards = _stores(state.lanes), _stores(state.shards)
        found = convert(self.pipeline, after, lanes, shards)
        known, nothing = self.output.counts, Counts.of(self.pipeline.source.fates)
        longest = max(known.values(), key=lambda counts: counts.read, default=nothing)
        dead = sum(letter.query is None for letter in self.output.dead_letters)
        for query in after.flows:
            added = nothing.but(dead=dead).since_added(longest)
            known.setdefault(query.name, added if query.name not in self._queries else nothing)
        for name in after.conflicts:
            known.pop(name, None)
        letters = self.output.dead_letters
        letters[:] = [letter for letter in letters if letter.query not in after.conflicts]
        self._run(after)
        there = Snapshot(
            tuple(store.snapshot() for store in found.lanes),
            tuple(store.snapshot() for store in found.shards),
        )
        self.restore(there)
        return there

    def _emissions(self, batch: Mapping[int, RawRows], wall_us: int | None) -> list[Emission]:
        if self._fused is None:
            sent = [self._step(number, rows) for number, rows in batch.items()]
            parcels = [[of_lane[number] for of_lane in sent] for number in range(self.plan.shards)]
        else:
            stores = [store for _, store in self._shards]
            parcels = self._fused.parcels(batch, self._rules, stores)
        return [
            shard.step(store, own, wall_us)
            for (shard, store), own in zip(self._shards, parcels, strict=True)
        ]

    def _step(self, number: int, rows: RawRows) -> list[Parcel]:
        lane, store = self._lanes[number]
        return lane.step(store, [pack(rows, self._rules[number])])

    def waiting(self) -> dict[str, Waiting]:
        """Return what each query would send if all lanes ended; the engine ends with it.

        Raises:
            WindowingError: a row of an open window has no result.
        """
        # Believed whatever the pipeline believes: nobody has sent them.
        self._rules = [replace(rules, gate=Gate()) for rules in self._rules]
        batch = {}
        for number in range(self.plan.lanes):
            lane = self.output.lanes.get(number, LaneEnd())
            if not lane.ended:
                after = 0 if lane.last_offset is None else lane.last_offset + 1
                batch[number] = RawRows([after], [None], [b'{"end":true}'], [None])
        found = {name: list[pl.DataFrame]() for name in self._queries}
        for emission in self._emissions(batch, None):
            for flow, emitted in emission.results.items():
                for name, frame in self._apart.of(flow, emitted):
                    found[name].append(frame)
        return {name: waiting(self._queries[name], frames) for name, frames in found.items()}

    def snapshot(self) -> Snapshot:
        """Return the state after the batches so far, without the output, which is the sink's."""
        return Snapshot(
            lanes=tuple(store.snapshot() for _, store in self._lanes),
            shards=tuple(store.snapshot() for _, store in self._shards),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot, like a restarted job; lanes may have joined since."""
        joined: list[dict[str, bytes]] = [{}] * (len(self._lanes) - len(snapshot.lanes))
        for (_, store), values in zip(self._lanes, [*snapshot.lanes, *joined], strict=True):
            store.restore(values)
        for (_, shard_store), values in zip(self._shards, snapshot.shards, strict=True):
            shard_store.restore(values)

    def _collect(self, emission: Emission) -> None:
        for flow, emitted in emission.results.items():
            for query, frame in self._apart.of(flow, emitted):
                self.output.rows += rows_of(self._queries[query], self.pipeline, frame)
        for query, frame in emission.early.items():
            early = rows_of(self._queries[query], self.pipeline, frame, early=True)
            self.output.early += early
        self.output.held_back.update(emission.held_back)
        for data in emission.dead_letters:
            self.output.take_letters(self.pipeline, data)
        for data in emission.metrics:
            reach(self.output.lanes, data)
            count(self.output.counts, self.pipeline.source.fates, data)


def _stores(parts: Iterable[Mapping[str, bytes]]) -> list[MemoryStore]:
    stores = []
    for values in parts:
        stores.append(MemoryStore())
        stores[-1].restore(dict(values))
    return stores


class _FusedPlan:
    def __init__(self, plan: Plan, chunk_rows: int | None) -> None:
        self._scanner, self._settler = Scanner(plan), Settler(plan, redelivered="skip")
        self._chunk_rows = chunk_rows

    def parcels(
        self,
        batch: Mapping[int, RawRows],
        rules: Sequence[ValueRules],
        stores: Sequence[MemoryStore],
    ) -> list[list[Parcel]]:
        scanned = []
        for number, rows in batch.items():
            many = len(rows.offsets)
            for start in range(0, many, self._chunk_rows or many):
                part = rows.part(start, start + (self._chunk_rows or many))
                scanned.append(self._scanner.scan(number, pack(part, rules[number])))
        return [
            self._settler.settle(store, [chunk[number] for chunk in scanned])
            for number, store in enumerate(stores)
        ]


def run(
    pipeline: Pipeline, batches: Iterable[Mapping[int, RawRows]], *, fused: bool = False
) -> Output:
    """Run a pipeline over batches from an empty state, by either plan."""
    engine = LocalEngine(pipeline, fused=fused)
    for batch in batches:
        engine.feed(batch)
    return engine.output
