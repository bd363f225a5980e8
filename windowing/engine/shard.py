"""A shard: the windows of some of the keys: slices, late epochs, revisions, retention.

State is a set of partial states, each with its windows and, for late records, the epoch that
releases it. What a shard emits when the stream's progress moves from P to P' is a function of that
set, P and P' only (`windowing.engine.windows.part`): no counters, no flags. A batch appends a delta
(`windowing.engine.storage.tables`); merging deltas drops state past retention, and puts what is not
due for long into cold pieces (`windowing.engine.storage.cold`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from windowing.engine.aggregates import StateSchema
from windowing.engine.early import EarlyRows
from windowing.engine.effects import took_effect
from windowing.engine.having import sent_of, sent_rows
from windowing.engine.moves import Moves
from windowing.engine.plan import Plan
from windowing.engine.progress.clock import ClockId, begin, begins_behind, progress_of
from windowing.engine.progress.idle import IdleLanes, left_out
from windowing.engine.progress.reached import Progress
from windowing.engine.rows import row_state
from windowing.engine.rows.row_state import RowState
from windowing.engine.storage import tables
from windowing.engine.storage.cold import ColdState
from windowing.engine.storage.frames import from_bytes
from windowing.engine.storage.parcel import Parcel, TakenChange
from windowing.engine.storage.state import StateStore, StepStore, check_fingerprint
from windowing.engine.storage.tables import HEAD, KEYS, STATE, ShardState, append_keys
from windowing.engine.tuning import tuning
from windowing.engine.wids import ENDED
from windowing.engine.windows.part import (
    ReplacesState,
    SeesArrivals,
    ShardPart,
    ShowsOpenWindows,
    Tables,
)
from windowing.model.run_errors import StateFull
from windowing.model.windows.window import ROW_NUM


@dataclass
class Emission:
    """One step's output to the sink.

    Attributes:
        results: per query, rows as `windowing.engine.windows.part.ShardPart` describes them.
        early: per query, provisional rows, the same way.
        dead_letters, metrics: frames from the lanes, as bytes, passed through.
        held_back: per query with `having`, how many rows were not sent.
        taken: changes that lanes take and the plan does not know: nothing of the step is kept.
    """

    results: dict[str, pl.DataFrame] = field(default_factory=dict)
    early: dict[str, pl.DataFrame] = field(default_factory=dict)
    dead_letters: list[bytes] = field(default_factory=list)
    metrics: list[bytes] = field(default_factory=list)
    held_back: dict[str, int] = field(default_factory=dict)
    taken: list[TakenChange] = field(default_factory=list)


class Shard:
    """The processor of the windows of one shard's keys.

    Attributes:
        parts: its part of each flow whose state is merged, by its name.
        replacing: its part of each flow whose state is replaced.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan, self._pipeline = plan, plan.pipeline
        self._clocks = {flow.name: flow.due_by for flow in plan.flows}
        self._measured = tuple(dict.fromkeys((*plan.clocks, *self._clocks.values())))
        merged = [flow for flow in plan.flows if not flow.replaces]
        self.parts: dict[str, ShardPart] = {
            flow.name: flow.shard_part(plan.pipeline) for flow in merged
        }
        self.replacing: dict[str, ReplacesState] = {
            flow.name: flow.shard_part(plan.pipeline) for flow in plan.flows if flow.replaces
        }
        self._schemas = {flow.name: flow.schema for flow in merged}
        self._having = sent_rows(merged, plan.pipeline.source.fields)
        idle_us = plan.idle_timeout_us
        self._idle = None if idle_us is None else IdleLanes(idle_us, plan.lanes)
        self._early = {
            one.name: EarlyRows(one.query, self._part_shown(one.name), self._having.get(one.name))
            for one in merged
            if one.query.window is not None and (one.query.early or idle_us is not None)
        }
        self._entries_max = {
            flow.name: flow.query.entries_max
            for flow in plan.flows
            if flow.query.entries_max is not None
        }

    def _part_shown(self, query: str) -> ShowsOpenWindows:
        part = self.parts[query]
        assert isinstance(part, ShowsOpenWindows)  # noqa: S101 - parsing refuses others
        return part

    def step(
        self, store: StateStore, parcels: Sequence[Parcel], wall_us: int | None = None
    ) -> Emission:
        """Process one batch's parcels, in any order, and emit what is due.

        Args:
            wall_us: the caller's clock, for early rows only.

        Raises:
            CheckpointMismatch: the state belongs to another pipeline.
            ArrivalOrder: rows are counted on arrival, and a unit arrives in two lanes.
            StateFull: a query has more partial states than its retention allows.
        """
        store = StepStore(store)
        state = self.head(store)
        before = self._progress(store, state)
        self._append(store, state, parcels)
        moved = Moves(before, self._progress(store, state), parcels)
        emission = Emission(
            dead_letters=[one.dead_letters for one in parcels if one.dead_letters is not None],
            metrics=[one.metrics for one in parcels if one.metrics is not None],
            taken=[taken for one in parcels for taken in one.taken],
        )
        # Provisional rows first: they may need state that is dropped with the final rows.
        if self._early:
            emission.early = self._early_rows(store, state, parcels, moved.after, wall_us)
        self._emit(store, state, moved, emission)
        for query in self.replacing:
            rows = self._advance(store, state, query, moved.after, parcels, wall_us=wall_us)
            if len(rows):
                emission.results[query] = rows
        self._check_entries(store, state, moved)
        limits = tuning()
        if state.deltas >= limits.compact_unread_times * limits.compact_after_deltas:
            pieces = self._pieces_due(state, moved.after, self.parts)
            held = tables.read(store, self._schemas, state.deltas, pieces)
            tables.delete_cold(store, pieces)
            self._compact(store, state, held, moved)
        store.put(HEAD, STATE.encode(state))
        store.commit()
        return emission

    def canonical_state(self, store: StateStore, until: Shard | None = None) -> dict[str, Tables]:
        """Return the content of a state, by query: a function of the log, not of its batches.

        Base and deltas are merged, without state that rows no longer need; nothing is written.

        Args:
            until: one with no other queries, which may end earlier: what these need; None: all.

        Raises:
            CheckpointMismatch: the state belongs to another pipeline.
        """
        state = self.head(store)
        after = self._progress(store, state)
        held = tables.read(store, self._schemas, state.deltas, state.cold.pieces)
        held = self._retained(held, after)
        if until is not None:
            there = {query: tables for query, tables in held.items() if query in until.parts}
            held = until._retained(there, after)
        merged = {
            query: {name: self._schemas[query].canonical(frame) for name, frame in parts.items()}
            for query, parts in held.items()
            if any(map(len, parts.values()))
        }
        replaced = {
            query: part.canonical_state(stored)
            for query, part in self.replacing.items()
            if (stored := RowState(store, query).tables)
        }
        return merged | replaced

    def highest(self, store: StateStore) -> dict[str, int]:
        """Return the largest progress of any unit, by attribute: where an added lane begins.

        Raises:
            CheckpointMismatch: the state belongs to another pipeline.
        """
        found: dict[str, int] = {}
        for clock, progress in self._progress(store, self.head(store)).items():
            if clock.attribute != ROW_NUM:
                highest = max(progress.highest, found.get(clock.attribute, progress.highest))
                found[clock.attribute] = highest
        return found

    def _of(self, queries: Iterable[str]) -> dict[str, StateSchema]:
        return {query: self._schemas[query] for query in queries}

    def head(self, store: StateStore) -> ShardState:
        """Return the head of a state, with the lanes added since; nothing is written."""
        data = store.get(HEAD)
        source, fingerprint = self._pipeline.source, self._pipeline.fingerprint
        if data is None:
            begins = {
                clock.name: [begin(clock, source, lane) for lane in range(source.partitions)]
                for clock in self._plan.clocks
            }
            return ShardState(fingerprint, begins)
        state = STATE.decode(data)
        check_fingerprint("a shard", state.fingerprint, self._pipeline)
        if state.fingerprint != fingerprint:
            self._join(store, state)
        return state

    def _join(self, store: StateStore, state: ShardState) -> None:
        """Add the lanes that were added since the state was written.

        They begin at its progress or later, so that their records are late for closed windows.

        Raises:
            CheckpointMismatch: a lane begins behind the state's progress.
        """
        source, progress = self._pipeline.source, self._progress(store, state)
        known = {name: len(lanes) for name, lanes in state.reached.items()}
        reached_us = {clock: one.highest for clock, one in progress.items()}
        for clock, highest_us in reached_us.items():
            lanes = state.reached[clock.name]
            for number in range(known[clock.name], source.partitions):
                begins = begin(clock, source, number)
                waited_for = clock.lanes is None or number in clock.lanes
                if waited_for and clock.attribute != ROW_NUM and begins.progress_us < highest_us:
                    raise begins_behind(clock, source.lane(number), begins, highest_us)
                if number >= len(lanes):
                    lanes.append(begins)
        took_effect("lane added to state", source.partitions - source.founding)
        state.fingerprint = self._pipeline.fingerprint

    def _progress(
        self, store: StateStore, state: ShardState, silent: frozenset[int] = frozenset()
    ) -> dict[ClockId, Progress]:
        """Return the progress of the units, by each clock; without the given silent lanes."""
        found: dict[ClockId, Progress] = {}
        for clock in self._measured:
            lanes = left_out(state.reached[clock.name], silent)
            stored = None if clock.key is None else store.get(KEYS + clock.name)
            keys = None if stored is None else from_bytes(stored)
            found[clock] = progress_of(clock, lanes, keys)
        return found

    def _append(self, store: StateStore, state: ShardState, parcels: Sequence[Parcel]) -> None:
        """Apply the parcels' progress, and store their additions as one delta."""
        for parcel in parcels:
            for attribute, reached in parcel.reached.items():
                lanes = state.reached[attribute]
                lanes[parcel.partition] = lanes[parcel.partition].merge(reached)
            if parcel.partition >= self._pipeline.source.founding:
                took_effect("added lane", len(parcel.queries))
            for query, addition in parcel.queries.items():
                due_us = state.due_us.get(query, ENDED)
                state.due_us[query] = min(due_us, addition.due_us)
        for name in {name for parcel in parcels for name in parcel.keys}:
            append_keys(store, name, parcels)
        state.deltas += tables.append(store, state.deltas, parcels, self.parts)

    def _emit(self, store: StateStore, state: ShardState, moved: Moves, emission: Emission) -> None:
        before, after, _ = moved
        # ENDED is both "nothing is due" and the end of all lanes, where all is due.
        due = [
            query
            for query, due_us in state.due_us.items()
            if query in self.parts and after[self._clocks[query]].highest >= due_us
        ]
        if not due:
            return
        many = state.deltas >= tuning().compact_after_deltas
        tidy = many or tables.is_untidy(store, state.deltas)
        pieces = self._pieces_due(state, after, self.parts if tidy else due)
        tidy |= pieces > 0
        held = tables.read(store, self._schemas if tidy else self._of(due), state.deltas, pieces)
        for query in due:
            later_us = state.cold.due_us.get(query, ENDED)
            if query not in held:  # all of the rest was dropped
                state.due_us[query] = later_us
                continue
            part, clock = self.parts[query], self._clocks[query]
            if isinstance(part, SeesArrivals):
                arrived = tables.added(moved.due_before(query, clock), self._schemas[query])
                rows = part.rows_of_step(held[query], arrived, before[clock], after[clock])
            else:
                rows = part.rows(held[query], before[clock], after[clock])
            rows = sent_of(self._having, query, rows, emission.held_back)
            if len(rows):
                emission.results[query] = rows
                took_effect("cold state", len(rows) if pieces else 0)
            state.due_us[query] = min(part.next_due_us(held[query], after[clock]), later_us)
        tables.delete_cold(store, pieces)
        if tidy:
            self._compact(store, state, held, moved)

    def _pieces_due(
        self, state: ShardState, after: Mapping[ClockId, Progress], queries: Iterable[str]
    ) -> int:
        """Return how many cold pieces go back: all, or none if none is due."""
        if not state.cold.is_due({one: after[self._clocks[one]].highest for one in queries}):
            return 0
        pieces, state.cold = state.cold.pieces, ColdState()
        return pieces

    def _advance(
        self,
        store: StateStore,
        state: ShardState,
        query: str,
        after: Mapping[ClockId, Progress],
        parcels: Sequence[Parcel],
        *,
        wall_us: int | None,
    ) -> pl.DataFrame:
        """Replace the state of a query of operators, and return its due rows."""
        progress = after[self._clocks[query]]
        if progress.highest < state.due_us.get(query, ENDED):
            row_state.add(store, query, parcels)
            return pl.DataFrame()
        held = RowState(store, query, parcels)
        if not held.tables:
            state.due_us[query] = ENDED
            return pl.DataFrame()
        part = self.replacing[query]
        rows, replaced = part.advance(held.tables, progress, wall_us)
        held.replace(replaced)
        state.due_us[query] = part.next_due_us(replaced, progress)
        return rows

    def _early_rows(
        self,
        store: StateStore,
        state: ShardState,
        parcels: Sequence[Parcel],
        after: Mapping[ClockId, Progress],
        wall_us: int | None,
    ) -> dict[str, pl.DataFrame]:
        heard = {one.partition for one in parcels}
        silent = self._idle.silent(store, heard, wall_us) if self._idle else frozenset()
        beyond = self._progress(store, state, silent) if silent else None
        found = {}
        shown = tables.read(store, self._of(self._early), state.deltas, state.cold.pieces)
        for query, held in shown.items():
            clock = self._clocks[query]
            without_silent = None if beyond is None else beyond[clock]
            rows = self._early[query].rows(store, held, after[clock], wall_us, without_silent)
            if len(rows):
                found[query] = rows
                took_effect("early rows", len(rows))
                took_effect("idle lane left out", len(rows) if silent else 0)
        return found

    def _check_entries(self, store: StateStore, state: ShardState, moved: Moves) -> None:
        """Refuse a batch that exceeds a query's state limit, after trying to compact."""
        if not self._entries_max or not self._too_many(store, state):
            return
        held = tables.read(store, self._schemas, state.deltas, state.cold.pieces)
        tables.delete_cold(store, state.cold.pieces)
        state.cold = ColdState()
        self._compact(store, state, held, moved)
        for query, entries in self._too_many(store, state).items():
            msg = (
                f"query {query}: a shard would hold {entries} partial states, and retention allows "
                f"{self._entries_max[query]} entries: send bounds so that windows close, shorten "
                "retention, spread the keys over more shards, or allow more entries"
            )
            raise StateFull(msg)

    def _too_many(self, store: StateStore, state: ShardState) -> dict[str, int]:
        held = tables.read(store, self._of(self._entries_max), state.deltas, state.cold.pieces)
        entries = {query: sum(map(len, parts.values())) for query, parts in held.items()}
        return {query: n for query, n in entries.items() if n > self._entries_max[query]}

    def _compact(
        self, store: StateStore, state: ShardState, held: Mapping[str, Tables], moved: Moves
    ) -> None:
        """Merge base and deltas; drop what no row needs; what is not due for long gets cold."""
        retained = self._retained(held, moved.after)
        moves = {query: moved.of(self._clocks[query]) for query in retained}
        near, later = state.cold.divide(self.parts, retained, moves)
        tables.replace(store, state.deltas, near)
        state.deltas = 0
        if later:
            tables.put_cold(store, state.cold.pieces, later)
            state.cold.pieces += 1

    def _retained(
        self, held: Mapping[str, Tables], after: Mapping[ClockId, Progress]
    ) -> dict[str, Tables]:
        return {
            query: self.parts[query].retained(state, after[self._clocks[query]])
            for query, state in held.items()
        }
