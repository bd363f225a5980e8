"""The course of SPL's Join over one unit's records, from a compacted state on."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import polars as pl

from windowing.engine.columns import AT, INSTANT, OFFSET, PARTITION
from windowing.engine.progress.reached import Progress
from windowing.engine.rows.flows.joined import compared
from windowing.engine.rows.operators import Join, JoinKind
from windowing.engine.rows.operators.operator import PortOutput, Tuple
from windowing.engine.rows.policies import Delta, ManualClock
from windowing.engine.wids import ENDED, NOTHING_YET
from windowing.engine.windows.join_rows import SIDES
from windowing.model.join import Comparison, Operand, Side
from windowing.model.operators.join import PolicyJoinQuery
from windowing.model.windows.policy import WindowClause

MATCHED: Final = "matched"
"""Of a stored record: whether it found a partner. Null: it waits for progress."""

_TIME: Final = ""
"""A record's event time, as a number of microseconds, among its fields; no field has this name."""

_KINDS: Final = {
    "inner": JoinKind.inner,
    "left": JoinKind.left_outer,
    "right": JoinKind.right_outer,
    "full": JoinKind.outer,
}


class _Record(dict[str, Any]):
    """A record's fields, with its number in the table of its side."""

    __slots__ = ("number",)

    def __init__(self, number: int, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.number = number


class SideRecord(NamedTuple):
    """A record that waits for progress; arrivals sort in canonical order."""

    at: int
    lane: int
    offset: int
    port: int
    instant: int
    record: _Record


MarkedRecord = tuple[SideRecord, bool | None]
"""A record, and for a stored one whether it found a partner; None: it waits for progress."""


class Course:
    """The join of one unit's records, from a compacted state on.

    Args:
        records: of both sides, and for stored ones whether they found a partner.
        known: the partitions of a side's window; None: those that its records have, which is enough
            without partition eviction.

    Attributes:
        sent: pairs of numbers, of a left and a right record; None: the other was alone.
    """

    def __init__(
        self,
        query: PolicyJoinQuery,
        records: Iterable[MarkedRecord],
        known: Mapping[Side, pl.DataFrame | None],
    ) -> None:
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
        placed = sorted(records)
        stored = [(arrival, matched) for arrival, matched in placed if matched is not None]
        snapshot = dict[str, Any]()
        for port, side in enumerate(SIDES):
            own = [one for one in stored if one[0].port == port]
            snapshot[side] = _window(query, side, own, known[side])
        self._join.restore(snapshot, timers=True)
        self._waiting = deque(arrival for arrival, matched in placed if matched is None)

    def advance(self, progress: Progress) -> None:
        """Process the records that progress has passed, and what is due by then."""
        whole = pl.DataFrame()
        until = int(progress.of(whole)[0])
        while self._waiting and self._waiting[0].instant <= until:
            arrival = self._waiting.popleft()
            self._join.tick(arrival.at)
            self._join.insert(arrival.record, arrival.port)
        self._join.tick(int(progress.furthest(whole)[0]) if until == ENDED else until)

    def content(self, side: Side) -> tuple[dict[int, bool], Sequence[Any]]:
        """Return a side's stored records by number, whether matched, and its partitions."""
        partitions = self._join.snapshot()[side]["partitions"]
        entries = [entry for *_, (stored, *_) in partitions for entry in stored]
        return {record.number: matched for (record, matched), _ in entries}, partitions

    def _note(self, sent: PortOutput) -> None:
        if isinstance(sent.item, dict):
            self.sent.append((sent.item["left"], sent.item["right"]))

    def _matches(self, left: Tuple, right: Tuple) -> bool:
        # Null equals nothing; other values are compared by the operator.
        if any(left[name] is None for name in self._query.on):
            return False
        return all(_holds(one, {"left": left, "right": right}) for one in self._query.where)


def with_marks(records: pl.DataFrame) -> pl.DataFrame:
    """Return records with `matched`, which those from lanes lack."""
    if MATCHED in records.columns:
        return records
    return records.with_columns(pl.lit(None, dtype=pl.Boolean).alias(MATCHED))


def arrivals_of(
    query: PolicyJoinQuery, records: pl.DataFrame, port: int, ranks: Mapping[int, int]
) -> Iterator[MarkedRecord]:
    """Yield the records of a side, and for stored ones whether they found a partner.

    Args:
        ranks: of the lanes, in canonical order.
    """
    side, records = SIDES[port], with_marks(records)
    own = (pl.col(f"{side}.{name}").alias(name) for name in query.needed(side))
    fields = records.select(pl.col(AT).alias(_TIME), *own)
    heads = records.select(AT, PARTITION, OFFSET, INSTANT, MATCHED).iter_rows()
    rows = fields.iter_rows(named=True)
    for number, ((at, lane, offset, instant, matched), row) in enumerate(
        zip(heads, rows, strict=True)
    ):
        record = _Record(number, row)
        yield SideRecord(at, ranks[lane], offset, port, instant, record), matched


def _by_time(query: PolicyJoinQuery, side: Side) -> WindowClause:
    """Return a window whose delta compares event times as numbers; as a field they may be text."""
    window, event_time = query.side_window(side), query.source(side).event_time.field
    eviction = window.eviction
    if isinstance(eviction, Delta) and eviction.attribute == event_time:
        return replace(window, eviction=replace(eviction, attribute=_TIME))
    return window


def _window(
    query: PolicyJoinQuery,
    side: Side,
    stored: Sequence[tuple[SideRecord, bool]],
    known: pl.DataFrame | None,
) -> dict[str, Any]:
    """Return the snapshot of a window.

    Args:
        stored: its records, in canonical order.
        known: its partitions, as of `Course`.
    """
    by = query.side_window(side).partition_by
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
        "suspended": False,
    }


def _numbers(left: Tuple, right: Tuple) -> Tuple:
    """Return the numbers of two records; None for a missing one."""
    pair = {"left": left, "right": right}
    return {side: getattr(record, "number", None) for side, record in pair.items()}


def _holds(comparison: Comparison, pair: Mapping[str, Tuple]) -> bool:
    def value(operand: object) -> Any:
        return pair[operand.side][operand.field] if isinstance(operand, Operand) else operand

    return compared(comparison.operator, value(comparison.first), value(comparison.second))
