"""Defects of how a shard's state lies in its store: bases and deltas, and cold pieces."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial

import msgspec
import polars as pl

from chaos.planted_bugs.conditions import several_lanes, several_queries, some_flow, some_query
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.columns import PARTITION
from windowing.engine.moves import Moves
from windowing.engine.progress.clock import ClockId
from windowing.engine.progress.reached import Progress
from windowing.engine.shard import Shard
from windowing.engine.storage import tables
from windowing.engine.storage.cold import ColdState, Move
from windowing.engine.storage.frames import from_bytes
from windowing.engine.storage.state import StateStore
from windowing.engine.storage.tables import (
    _BASE,
    _COLD,
    _DELTA,
    Delta,
    ShardState,
    _encoded,
    _entries,
    _numbered,
)
from windowing.engine.wids import ENDED
from windowing.engine.windows.part import ShardPart
from windowing.engine.windows.part import Tables as Held

_BY_ROWS = "deterministic, closing, no error, exactly once, early rows"
_TABLES = "windowing.engine.storage.tables"

COLD = {"cold_from_rows": 0}
"""State is divided by when it is due, however little there is."""

_MANY = Wish(classes=("sliding", "keyed sliding", "session"), records_max=40)

# --- bases and deltas -------------------------------------------------------------------------


# A base that is not read where there are deltas. How one gets it: "the newest state", taken for the
# newest writes.
@planted("base_hidden_by_deltas", _BY_ROWS, at=f"{_TABLES}:_stored")
def of_the_deltas(store: StateStore, deltas: int) -> Iterator[tuple[str, bytes]]:
    data = store.get(_BASE)
    if data is not None and not deltas:
        yield _BASE, data
    yield from _numbered(store, _DELTA, deltas)


# Deltas of which the newest is not merged, once there are several. How one gets it: the number of
# the last one is taken for how many there are.
@planted("newest_delta_not_merged", _BY_ROWS, at=f"{_TABLES}:_numbered")
def up_to_the_last(store: StateStore, prefix: str, count: int) -> Iterator[tuple[str, bytes]]:
    yield from _numbered(store, prefix, count - 1 if prefix == _DELTA and count > 2 else count)


# A delta whose rows get the lane of its first part. How one gets it: the loop's variable is read
# once for all of a query's parts.
@planted(
    "delta_of_the_first_lane",
    _BY_ROWS,
    at=f"{_TABLES}:_entries",
    shows_in=some_flow(several_lanes),
)
def of_the_first_lane(
    key: str, data: bytes, queries: Collection[str]
) -> Iterator[tuple[str, str, pl.DataFrame]]:
    if not key.startswith(_DELTA):
        yield from _entries(key, data, queries)
        return
    for query, parts in msgspec.msgpack.decode(data, type=Delta).items():
        lane = pl.lit(parts[0][0], dtype=pl.Int32).alias(PARTITION)
        for _, held in parts if query in queries else ():
            for table, stream in held.items():
                yield query, table, from_bytes(stream).with_columns(lane)


# A new base without the queries of which nothing is left in the first table. How one gets it:
# `next(iter(...))` where `any` is meant.
@planted("base_by_its_first_table", _BY_ROWS, at=f"{_TABLES}:_encoded")
def by_the_first_table(queries: Mapping[str, Held]) -> bytes:
    kept = {query: held for query, held in queries.items() if len(next(iter(held.values())))}
    return _encoded(kept)


# --- cold pieces --------------------------------------------------------------------


# Cold state is due one step late. How one gets it: `>` for `>=`, at the instant at which
# it is due.
@planted(
    "cold_state_one_step_late",
    _BY_ROWS,
    at="windowing.engine.storage.cold:ColdState.is_due",
    tuning=COLD,
    wish=Wish(classes=("sliding", "keyed sliding"), queries_max=1, usual=0.0, long=0.5),
)
def one_step_late(cold: ColdState, progress: Mapping[str, int]) -> bool:
    return any(
        query in cold.due_us and reached > cold.due_us[query] for query, reached in progress.items()
    )


planted_in_cold_state = partial(planted, expected=_BY_ROWS, tuning=COLD, wish=_MANY)


# A piece whose earliest instant replaces that of the pieces before. How one gets it: the newest one
# is due first, if windows are as long as each other.
@planted_in_cold_state(
    "cold_state_due_by_its_newest_piece", at="windowing.engine.storage.cold:ColdState.divide"
)
def by_the_newest(
    cold: ColdState,
    parts: Mapping[str, ShardPart],
    held: Mapping[str, Held],
    moved: Mapping[str, Move],
) -> tuple[dict[str, Held], dict[str, Held]]:
    before = dict(cold.due_us)
    cold.due_us.clear()
    near, later = _divide(cold, parts, held, moved)
    for query, due_us in before.items():
        cold.due_us.setdefault(query, due_us)
    return near, later


_divide = ColdState.divide


# Cold state, and what stays is as before: a piece is in both. How one gets it: a copy
# where a move is meant.
@planted_in_cold_state(
    "cold_state_stays_as_well", at="windowing.engine.storage.cold:ColdState.divide"
)
def in_both(
    cold: ColdState,
    parts: Mapping[str, ShardPart],
    held: Mapping[str, Held],
    moved: Mapping[str, Move],
) -> tuple[dict[str, Held], dict[str, Held]]:
    _, later = _divide(cold, parts, held, moved)
    return dict(held), later


# Only the last piece is read when one of them is due. How one gets it: pieces are numbered, and the
# head has the number.
@planted_in_cold_state("cold_state_of_the_last_piece", at=f"{_TABLES}:_cold_pieces")
def of_the_last_piece(store: StateStore, pieces: int) -> Iterator[tuple[str, bytes]]:
    yield from [*_numbered(store, _COLD, pieces)][-1:]


# State is made new without cold state, unless one of the queries that are due has such state
# that is due. How one gets it: what is not due needs no row, so it is not read. (It was ours.)
@planted(
    "tidied_without_what_lies_apart",
    _BY_ROWS,
    tuning=COLD | {"compact_after_deltas": 0},
    wish=Wish(classes=("session",), records_max=40),
)
class TidyShard(Shard):
    def _pieces_due(
        self, state: ShardState, after: Mapping[ClockId, Progress], queries: Iterable[str]
    ) -> int:
        due = [
            query
            for query in queries
            if after[self._clocks[query]].highest >= state.due_us.get(query, ENDED)
        ]
        return super()._pieces_due(state, after, due)


# A piece that holds the state of one query. How one gets it: pieces were of a query once, and the
# dictionary of them is still written as one of length one.
@planted_in_cold_state(
    "cold_state_of_other_queries_forgotten",
    at="windowing.engine.shard:Shard._compact",
    shows_in=some_query(several_queries),
)
def of_one_query(
    shard: Shard,
    store: StateStore,
    state: ShardState,
    held: Mapping[str, Held],
    moved: Moves,
) -> None:
    retained = shard._retained(held, moved.after)
    moves = {query: moved.of(shard._clocks[query]) for query in retained}
    near, later = state.cold.divide(shard.parts, retained, moves)
    tables.replace(store, state.deltas, near)
    state.deltas = 0
    if later:
        tables.put_cold(store, state.cold.pieces, dict([*later.items()][:1]))
        state.cold.pieces += 1
