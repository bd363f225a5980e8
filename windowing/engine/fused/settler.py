"""The shard's half of the fused plan: from the chunks of a batch to parcels, as lanes send them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Literal

import msgspec
import numpy as np
import polars as pl

from windowing.engine.changes import Claim, judged
from windowing.engine.columns import AT, BEFORE, OFFSET, PARTITION
from windowing.engine.effects import took_effect
from windowing.engine.flow_plan import FlowPlan
from windowing.engine.fused.scanner import Account, Provisional
from windowing.engine.plan import Plan
from windowing.engine.progress.clock import begin
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.reading.refusals import end_columns
from windowing.engine.storage.formats import Format
from windowing.engine.storage.frames import from_bytes
from windowing.engine.storage.parcel import DEAD_LETTER_SCHEMA, Addition, Parcel, TakenChange
from windowing.engine.storage.state import StateStore
from windowing.engine.tally import Tally
from windowing.engine.wids import ENDED
from windowing.engine.windows.part import Outcome, Scan, Settles
from windowing.engine.windows.sliding_lane import PARTIALS
from windowing.model.fates import BY_WINDOWS
from windowing.model.run_errors import RedeliveredOffset, TangledChunks

Redelivered = Literal["error", "skip"]
"""How to treat a chunk that its lane has passed: as an error, or as a counted no-op."""

KNOWN_LANES = "lanes"
"""The key of a shard's record of its lanes."""


class KnownLane(msgspec.Struct, array_like=True):
    """What a shard knows of a lane.

    Attributes:
        reached: its progress, by the name of the clock.
        last_offset: the last offset that it has had; -1 before the first.
    """

    reached: dict[str, LaneProgress]
    last_offset: int = -1


STATE = Format("a shard's record of its lanes", 1, dict[int, KnownLane])
"""The stored format, by lane."""


class Settler:
    """Applies a lane's earlier progress to chunks that were read without it. One serves all shards.

    Args:
        redelivered: how to treat a chunk that the lane has passed: as an `error`, if the engine
            never resends, or as a counted no-op (`skip`).
    """

    def __init__(self, plan: Plan, redelivered: Redelivered = "error") -> None:
        self._plan, self._source = plan, plan.pipeline.source
        self._redelivered = redelivered
        self._time = plan.clocks[0].name
        self._flows = {flow.name: flow for flow in plan.flows}
        self.parts: dict[str, Settles] = {flow.name: _settling(flow, plan) for flow in plan.flows}

    def settle(self, store: StateStore, chunks: Sequence[Provisional]) -> list[Parcel]:
        """Return the parcels of a batch for one shard: those of a lane in the order of its chunks.

        Args:
            chunks: of all lanes, in any order.

        Raises:
            RedeliveredOffset: a chunk begins with an offset that its lane has passed.
            TangledChunks: two chunks of a lane overlap.
        """
        data = store.get(KNOWN_LANES)
        lanes = {} if data is None else STATE.decode(data)
        parcels: list[Parcel] = []
        for partition, of_lane in groupby(self._in_order(chunks), attrgetter("partition")):
            lane = lanes.setdefault(partition, self._begin(partition))
            parcels += self._settle_lane(lane, list(of_lane))
        store.put(KNOWN_LANES, STATE.encode(lanes))
        return parcels

    def _in_order(self, chunks: Sequence[Provisional]) -> list[Provisional]:
        """Return the chunks lane by lane, those of a lane as its log has them."""
        return sorted(chunks, key=attrgetter("partition", "first"))

    def _begin(self, partition: int) -> KnownLane:
        clocks = self._plan.clocks
        return KnownLane({clock.name: begin(clock, self._source, partition) for clock in clocks})

    def _settle_lane(self, lane: KnownLane, chunks: Sequence[Provisional]) -> list[Parcel]:
        """Settle the chunks of one lane, and count them as one batch."""
        tally, parcels = Tally(chunks[0].partition, self._plan), []
        for chunk in chunks:
            if self._is_new(lane, chunk):
                parcels.append(self._settle(lane, chunk, tally))
            elif chunk.account is not None:
                tally.redelivered += chunk.account.rows
        parcels = parcels or [Parcel(chunks[0].partition, lane.reached)]
        if chunks[0].account is not None:
            for flow in self._plan.flows:
                tally.judge(flow.name, _NOTHING)
            tally.into(parcels[-1], lane.reached[self._time])
        return parcels

    def _is_new(self, lane: KnownLane, chunk: Provisional) -> bool:
        if chunk.first > lane.last_offset:
            return True
        name, last = self._source.lane(chunk.partition), lane.last_offset
        if chunk.last > last:
            msg = (
                f"lane {name} got offsets {chunk.first} to {chunk.last} after {last}: chunks "
                "of a lane overlap, so they cannot be read apart; give each task a range of "
                "offsets of its own, or run with the lanes' own stage (plan: lanes)"
            )
            raise TangledChunks(msg)
        if self._redelivered == "error":
            msg = (
                f"lane {name} got offset {chunk.first} again (its last was {last}): "
                "source and checkpoint disagree; start a new run to replay"
            )
            raise RedeliveredOffset(msg)
        return False

    def _settle(self, lane: KnownLane, chunk: Provisional, tally: Tally) -> Parcel:
        before = lane.reached
        lane.last_offset = chunk.last
        if before[self._time].progress_us == ENDED:
            if chunk.account is not None:
                self._count_ended(chunk, chunk.account, tally)
            return Parcel(chunk.partition, before)
        if chunk.account is not None:
            self._count(chunk, chunk.account, before, tally)
        lane.reached = {name: before[name].merge(chunk.reached[name]) for name in before}
        taken = self._judge(chunk, before[self._time], tally)
        settled = {
            name: self._settled(name, addition, before, chunk.partition)
            for name, addition in chunk.queries.items()
        }
        queries = {name: addition for name, addition in settled.items() if addition is not None}
        took_effect("fused plan", len(queries))
        return Parcel(chunk.partition, lane.reached, queries=queries, taken=taken)

    def _judge(self, chunk: Provisional, before: LaneProgress, tally: Tally) -> list[TakenChange]:
        """Return the changes of the queries in a chunk that its lane takes; count the others."""
        if chunk.account is None or not chunk.account.claims:
            return []
        found = [
            Claim(one.offset, one.text, before.merge(one.reached)) for one in chunk.account.claims
        ]
        judgement = judged(self._plan.pipeline, chunk.partition, found)
        tally.refuse(judgement.refused)
        return judgement.taken

    def _settled(
        self, query: str, addition: Addition, before: Mapping[str, LaneProgress], partition: int
    ) -> Addition | None:
        """Return what is left of an addition; None: all of it is late, and refused."""
        progress = before[self._flows[query].clock.name].progress_us
        if progress < addition.due_us and [*addition.tables] == [PARTIALS]:
            # Nothing in it has ended by then, and nothing is late by its own chunk.
            return addition
        tables = {name: from_bytes(table) for name, table in addition.tables.items()}
        part = self.parts[query]
        settled = part.settle(tables, progress, partition)
        return Addition.of(settled, part.due_us) if any(map(len, settled.values())) else None

    def _count(
        self, chunk: Provisional, account: Account, before: Mapping[str, LaneProgress], tally: Tally
    ) -> None:
        """Count a chunk's records by the larger of two progresses: of the chunk, and before it."""
        tally.take(pl.Series([chunk.first, chunk.last]), account.data, from_bytes(account.bad))
        if account.withheld is not None:
            tally.withhold(from_bytes(account.withheld))
        tally.warn(account.warned)
        scans = {}
        for clock, data in account.records.items():
            records, reached = from_bytes(data), before[clock].progress_us
            progress = np.maximum(records[BEFORE].to_numpy(), reached)
            at = records[AT] if AT in records.columns else records.to_series(1)
            scans[clock] = Scan(chunk.partition, records, at.to_numpy(), progress)
        for name, flow in self._flows.items():
            scan, refused = scans[flow.clock.name], _NONE_REFUSED
            if name in account.refused:
                refused = from_bytes(account.refused[name])
                scan = scan.where(~scan.data[OFFSET].is_in(refused[OFFSET].implode()).to_numpy())
            tally.judge(name, self.parts[name].judge(scan).plus(refused))

    def _count_ended(self, chunk: Provisional, account: Account, tally: Tally) -> None:
        """Count a chunk behind the end of its lane: every record is a dead letter."""
        records = from_bytes(account.records[self._time])[OFFSET]
        others = [from_bytes(account.bad)[OFFSET]]
        if account.withheld is not None:
            others.append(from_bytes(account.withheld)[OFFSET])
        offsets = pl.concat([records, *others]).sort()
        dead = pl.DataFrame({OFFSET: offsets}).select(
            pl.lit(chunk.partition, dtype=pl.Int32).alias(PARTITION),
            OFFSET,
            query=pl.lit(None, dtype=pl.String),
            **end_columns(),
        )
        tally.take(pl.Series([chunk.first, chunk.last]), 0, dead)


_NONE_REFUSED = pl.DataFrame(schema=DEAD_LETTER_SCHEMA)
_NOTHING = Outcome(_NONE_REFUSED, np.zeros((1, len(BY_WINDOWS)), dtype=np.int64))


def _settling(flow: FlowPlan[Any], plan: Plan) -> Settles:
    part = flow.lane_part(plan.pipeline)
    assert isinstance(part, Settles)  # noqa: S101 - else the plan would have lanes
    return part
