"""SPL's Join in a shard: the records of both sides, in canonical order.

State is the records that wait for progress, those that are stored in the windows and, of windows
with partition eviction, the partitions. Lanes send records as for any join. Before its rows, a step
repeats what happened since the state was last compacted: what is emitted while progress moves from
P to P' is a function of (state, P, P') alone (ADR 8).

Source: Gedik 2014, section 6.1.2; inside pipelines: ADR 22.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import polars as pl

from windowing.engine.columns import AT, AT_FIRST, INSTANT, OFFSET, PARTITION, RECORDS, field_column
from windowing.engine.progress.reached import Progress
from windowing.engine.rows.operators import Join, JoinKind
from windowing.engine.rows.operators.operator import Sent, Tuple
from windowing.engine.rows.policies import Delta, ManualClock, Time
from windowing.engine.wids import ENDED, NOTHING_YET
from windowing.engine.windows.chains import later
from windowing.engine.windows.join_rows import SIDES, PairRows, prefixed
from windowing.engine.windows.part import Tables
from windowing.model import Pipeline
from windowing.model.join import Comparison, Operand, Side
from windowing.model.operators.join import PolicyJoinQuery
from windowing.model.windows.policy import WindowClause

MATCHED: Final = "matched"
"""Of a stored record: whether it found a partner. Null: it waits for progress."""

RANK: Final = "rank"
"""Of a partition: how many were updated before it."""

_TIME: Final = ""
"""A record's event time, as a number of microseconds, among its fields; no field has this name."""

_KINDS: Final = {
    "inner": JoinKind.inner,
    "left": JoinKind.left_outer,
    "right": JoinKind.right_outer,
    "full": JoinKind.outer,
}
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


class _Record(dict[str, Any]):
    """A record's fields, with its number in the table of its side."""

    __slots__ = ("number",)

    def __init__(self, number: int, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.number = number


class _Arrival(NamedTuple):
    """A record that waits for progress; arrivals sort in canonical order."""

    at: int
    lane: int
    offset: int
    port: int
    instant: int
    record: _Record


class PolicyJoinShardPart:
    """The rows of a join over policy windows.

    Rows have the columns of other joins' rows.

    Args:
        query: the join.
        pipeline: its pipeline.
    """

    def __init__(self, query: PolicyJoinQuery, pipeline: Pipeline) -> None:
        self._query, self._rows = query, PairRows(query, pipeline.source)
        source = pipeline.source
        places = [(source.place(n)[0].topic, source.place(n)[1]) for n in range(source.partitions)]
        self._ranks = {n: rank for rank, (_, n) in enumerate(sorted(_numbered(places)))}

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return the rows due while progress moves."""
        course = _Course(self._query, tables, self._ranks)
        course.advance(before)
        course.sent.clear()
        course.advance(after)
        found = [self._built(tables, there, course.sent) for there in ((0, 1), (0,), (1,))]
        rows = pl.concat(found)
        return rows if len(rows) else pl.DataFrame()

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """Return the next progress at which a record arrives, or may leave its window alone."""
        until = int(after.of(tables["left"])[0])
        due = [ENDED]
        for side in SIDES:
            instants = [tables[side][INSTANT]]
            eviction = self._query.window(side).eviction
            if isinstance(eviction, Time) and self._query.keeps(side):
                period_us = pl.lit(min(eviction.period_us, ENDED - 1) + 1, dtype=pl.Int64)
                instants.append(tables[side].select(due=later(pl.col(AT), period_us))["due"])
            due += [int(i) for s in instants if (i := s.filter(s > until).min()) is not None]  # type: ignore[arg-type]
        return min(due)

    def retained(self, tables: Tables, after: Progress) -> Tables:
        """Return the records that wait, and the content of the windows."""
        until = int(after.of(tables["left"])[0])
        if until == ENDED:
            return {side: tables[side].clear() for side in SIDES}
        course = _Course(self._query, tables, self._ranks)
        course.advance(after)
        kept: Tables = {}
        for side, (matched, partitions) in zip(SIDES, course.content(), strict=True):
            records = with_marks(tables[side])
            waiting = records.filter(pl.col(MATCHED).is_null(), pl.col(INSTANT) > until)
            marks = pl.Series(MATCHED, [*matched.values()], dtype=pl.Boolean)
            stored = records[[*matched]].with_columns(marks)
            kept[side] = pl.concat([stored, waiting]).sort(AT, PARTITION, OFFSET)
            if self._query.window(side).partition_eviction is not None:
                kept[partition_table(side)] = self._partitions(side, partitions, records)
        return kept

    def _partitions(
        self, side: Side, partitions: Sequence[Any], records: pl.DataFrame
    ) -> pl.DataFrame:
        """Return the partitions of a window, the least recently updated first."""
        names = self._query.window(side).partition_by
        schema: dict[str, pl.DataType | type[pl.DataType]] = {
            **{field_column(name): records.schema[f"{side}.{name}"] for name in names},
            **{RANK: pl.Int64, AT: pl.Int64, AT_FIRST: pl.Int64, RECORDS: pl.Int64},
        }
        rows = [
            (*key, rank, updated_us, created_us, inserts)
            for key, rank, updated_us, (_, created_us, inserts) in partitions
            if rank is not None  # a window of count(0) has partitions without records
        ]
        return pl.DataFrame(rows, schema, orient="row").sort(RANK)

    def _built(
        self, tables: Tables, ports: tuple[int, ...], sent: Sequence[tuple[int | None, ...]]
    ) -> pl.DataFrame:
        """Return the rows of pairs, or of lone records of one side."""
        own = [pair for pair in sent if all((pair[p] is not None) == (p in ports) for p in (0, 1))]
        parts = []
        for port in ports:
            numbers = pl.Series([pair[port] for pair in own], dtype=pl.Int64)
            side = SIDES[port]
            taken = prefixed(with_marks(tables[side])[numbers].drop(MATCHED), side)
            parts.append(taken.drop(n for n in taken.columns if n.startswith(field_column(""))))
        first = SIDES[ports[0]]
        names = zip(self._query.key_fields("left"), self._query.key_fields(first), strict=True)
        records = pl.concat(parts, how="horizontal").with_columns(
            pl.col(f"{first}.{field}").alias(field_column(name)) for name, field in names
        )
        return self._rows.of(records, retracts=False)


class _Course:
    """The join from a compacted state on.

    Args:
        query: the join.
        tables: its state.
        ranks: of the lanes, in canonical order.

    Attributes:
        sent: pairs of numbers, of a left and a right record; None: the other was alone.
    """

    def __init__(self, query: PolicyJoinQuery, tables: Tables, ranks: Mapping[int, int]) -> None:
        self._query = query
        self.sent: list[tuple[int | None, ...]] = []
        left, right = (_by_time(query, side) for side in SIDES)
        self._join = Join(
            left,
            right,
            _numbers,
            self._note,
            kind=_KINDS[query.kind],
            equal=(tuple(query.on), tuple(query.on.values())),
            where=self._matches,
            clock=ManualClock(NOTHING_YET),
        )
        snapshot, waiting = dict[str, Any](), list[_Arrival]()
        for port, side in enumerate(SIDES):
            stored = list[tuple[_Arrival, bool]]()
            for arrival, matched in _arrivals(query, tables[side], port, ranks):
                if matched is None:
                    waiting.append(arrival)
                else:
                    stored.append((arrival, matched))
            known = tables.get(partition_table(side))
            snapshot[side] = _window(query, side, sorted(stored, key=_canonical), known)
        self._join.restore(snapshot)
        self._waiting = sorted(waiting, reverse=True)

    def advance(self, progress: Progress) -> None:
        """Process the records that progress has passed, and what is due by then."""
        whole = pl.DataFrame()
        until = int(progress.of(whole)[0])
        while self._waiting and self._waiting[-1].instant <= until:
            arrival = self._waiting.pop()
            self._join.tick(arrival.at)
            self._join.insert(arrival.record, arrival.port)
        self._join.tick(int(progress.furthest(whole)[0]) if until == ENDED else until)

    def content(self) -> Iterator[tuple[dict[int, bool], Sequence[Any]]]:
        """Yield each side's stored records by number, whether matched, and its partitions."""
        snapshot = self._join.snapshot()
        for side in SIDES:
            partitions = snapshot[side]["partitions"]
            entries = [entry for *_, (stored, *_) in partitions for entry in stored]
            yield {record.number: matched for (record, matched), _ in entries}, partitions

    def _note(self, sent: Sent) -> None:
        if isinstance(sent.item, dict):
            self.sent.append((sent.item["left"], sent.item["right"]))

    def _matches(self, left: Tuple, right: Tuple) -> bool:
        # Null equals nothing; other values are compared by the operator.
        if any(left[name] is None for name in self._query.on):
            return False
        return all(_holds(one, {"left": left, "right": right}) for one in self._query.where)


def partition_table(side: Side) -> str:
    """Return the name of the table of a side's partitions."""
    return f"{side}_partitions"


def with_marks(records: pl.DataFrame) -> pl.DataFrame:
    """Return records with `matched`, which those from lanes lack."""
    if MATCHED in records.columns:
        return records
    return records.with_columns(pl.lit(None, dtype=pl.Boolean).alias(MATCHED))


def _numbered(places: Sequence[tuple[str, int]]) -> Iterator[tuple[tuple[str, int], int]]:
    return ((place, number) for number, place in enumerate(places))


def _arrivals(
    query: PolicyJoinQuery, records: pl.DataFrame, port: int, ranks: Mapping[int, int]
) -> Iterator[tuple[_Arrival, bool | None]]:
    """Yield the records of a side, and for stored ones whether they found a partner."""
    side, records = SIDES[port], with_marks(records)
    own = (pl.col(f"{side}.{name}").alias(name) for name in query.needed(side))
    fields = records.select(pl.col(AT).alias(_TIME), *own)
    heads = records.select(AT, PARTITION, OFFSET, INSTANT, MATCHED).iter_rows()
    rows = fields.iter_rows(named=True)
    for number, ((at, lane, offset, instant, matched), row) in enumerate(
        zip(heads, rows, strict=True)
    ):
        record = _Record(number, row)
        yield _Arrival(at, ranks[lane], offset, port, instant, record), matched


def _by_time(query: PolicyJoinQuery, side: Side) -> WindowClause:
    """Return a window whose delta compares event times as numbers; as a field they may be text."""
    window, event_time = query.window(side), query.source(side).event_time.field
    eviction = window.eviction
    if isinstance(eviction, Delta) and eviction.attribute == event_time:
        return replace(window, eviction=replace(eviction, attribute=_TIME))
    return window


def _canonical(stored: tuple[_Arrival, bool]) -> _Arrival:
    return stored[0]


def _window(
    query: PolicyJoinQuery,
    side: Side,
    stored: Sequence[tuple[_Arrival, bool]],
    known: pl.DataFrame | None,
) -> dict[str, Any]:
    """Return the snapshot of a window.

    Args:
        query: the join.
        side: the window's side.
        stored: its records, in canonical order.
        known: its partitions; None: those that its records have, which is enough without partition
            eviction.
    """
    by = query.window(side).partition_by
    entries: dict[Any, list[Any]] = {}
    partitions: dict[Any, tuple[int, int, int, int]] = {}
    for rank, (arrival, matched) in enumerate(stored):
        key = tuple(arrival.record[name] for name in by) if by else None
        entries.setdefault(key, []).append([[arrival.record, matched], arrival.at])
        partitions[key] = rank, arrival.at, arrival.at, len(entries[key])
    if known is not None:
        partitions = {row[:-4]: row[-4:] for row in known.iter_rows()}
    return {
        "partitions": [
            [key, rank, updated_us, [entries.get(key, []), created_us, inserts]]
            for key, (rank, updated_us, created_us, inserts) in partitions.items()
        ],
        "marks": [],
        "tick": None,
    }


def _numbers(left: Tuple, right: Tuple) -> Tuple:
    """Return the numbers of two records; None for a missing one."""
    pair = {"left": left, "right": right}
    return {side: getattr(record, "number", None) for side, record in pair.items()}


def _holds(comparison: Comparison, pair: Mapping[str, Tuple]) -> bool:
    def value(operand: object) -> Any:
        return pair[operand.side][operand.field] if isinstance(operand, Operand) else operand

    first, second = value(comparison.first), value(comparison.second)
    if first is None or second is None:
        return False
    return _COMPARE[comparison.operator](first, second)
