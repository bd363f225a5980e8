"""Rows and dead letters, as all parts of the platform exchange them, and their exact bytes.

A row's identity is `(run, query, window_id, key, pane, revision)`; `run` is added by the sink.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final, Literal

from windowing.model.types import Kind

Scalar = int | float | str | bool | Decimal | None
Key = tuple[Scalar, ...]
Value = Scalar | Sequence[Scalar]
"""The result of an aggregate: a scalar, or a list of them."""

TAKE_BACK: Final = ("op", "tombstone")
"""The columns that a row fills only if it takes an earlier row back."""


@dataclass(frozen=True)
class Row:
    """One revision of one window for one key.

    Attributes:
        window_id: number of the window; 0 is the first after the origin.
        window_start_us, window_end_us: its extent, half-open, start clipped to the origin.
        key: values of `group_by`, in that order.
        pane: `full` for revision 0, `late` from 1 on; `early`: provisional, numbered separately.
        records: how many records the window holds as of this revision.
        offsets: per contributing lane, their smallest and largest offset; lanes by number.
        values: aggregates in the order of the file.
        overflow: the sums that leave int64 or 38 digits, which are null in `values`.
        retracts: the row repeats the previous one in order to retract it.
        tombstone: the row does not fulfil `having`, and withdraws the previous one, which did.
        absorbed_by: in a tombstone, the start of the session that this one is now part of.
    """

    query: str
    window_id: int
    window_start_us: int
    window_end_us: int
    key: Key
    pane: Literal["early", "full", "late"]
    revision: int
    records: int
    offsets: Mapping[str, tuple[int, int]]
    values: Mapping[str, Value]
    retracts: bool = False
    absorbed_by: int | None = None
    overflow: tuple[str, ...] = ()
    tombstone: bool = False


@dataclass(frozen=True)
class DeadLetter:
    """A record that no window took, and why; `query` is None if no query could use it."""

    source: str
    partition: int
    offset: int
    query: str | None
    reason: str


def key_order(key: Key) -> tuple[tuple[int, float | int | Decimal | str], ...]:
    """Return the sort key of a row's key: null first, numbers by value, strings by code point.

    False comes before true.
    """
    return tuple(
        (0, 0) if part is None else (2, part) if isinstance(part, str) else (1, part)
        for part in key
    )


def row_order(row: Row) -> tuple[object, ...]:
    """Return the sort key of a row in an output file."""
    return (
        row.query,
        row.window_start_us,
        row.window_end_us,
        key_order(row.key),
        row.pane,
        row.revision,
        # Operators may report the same records twice.
        row.window_id,
        row.retracts,
    )


def dead_letter_order(letter: DeadLetter) -> tuple[object, ...]:
    """Return the sort key of a dead letter in an output file: its fields in order, null first."""
    by_query = (letter.query is not None, letter.query or "")
    return (letter.source, letter.partition, letter.offset, by_query, letter.reason)


def row_line(row: Row) -> str:
    """Return a row as one line of OUT.jsonl, without the newline."""
    return _spell(
        {
            "query": row.query,
            "window_id": row.window_id,
            "window_start": row.window_start_us,
            "window_end": row.window_end_us,
            "key": [in_row(part) for part in row.key],
            "pane": row.pane,
            "revision": row.revision,
            "records": row.records,
            "offsets": {lane: list(ends) for lane, ends in row.offsets.items()},
            "values": {name: _value(value) for name, value in row.values.items()},
            **_marks(row),
        }
    )


def _marks(row: Row) -> dict[str, object]:
    marks: dict[str, object] = {"overflow": list(row.overflow)} if row.overflow else {}
    if row.tombstone or row.absorbed_by is not None:
        marks |= {"tombstone": True}
    if row.absorbed_by is not None:
        marks |= {"absorbed_by": row.absorbed_by}
    return marks | {"op": "retract"} if row.retracts else marks


def dead_letter_line(letter: DeadLetter, detail: tuple[str | None, ...] | None = None) -> str:
    """Return a dead letter as one line of OUT.dead.jsonl, without the newline.

    Args:
        detail: the refused field, its value, and the rule, which are then in it, too.
    """
    more = {} if detail is None else dict(zip(("field", "value", "rule"), detail, strict=True))
    return _spell(
        {
            "source": letter.source,
            "partition": letter.partition,
            "offset": letter.offset,
            "query": letter.query,
            "reason": letter.reason,
            **more,
        }
    )


def row_lines(rows: Iterable[Row]) -> Iterable[str]:
    """Return the sorted lines of an output file."""
    return (row_line(row) for row in sorted(rows, key=row_order))


def dead_letter_lines(
    letters: Iterable[DeadLetter],
    details: Mapping[DeadLetter, tuple[str | None, ...]] | None = None,
) -> Iterable[str]:
    """Return the sorted lines of a dead-letter file, with details if they are given."""
    ordered = sorted(letters, key=dead_letter_order)
    return (dead_letter_line(one, None if details is None else details[one]) for one in ordered)


def _value(value: Value) -> object:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [in_row(part) for part in value]
    return in_row(value)


def in_row(value: Scalar) -> Scalar:
    """Return a value as a row's JSON has it."""
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return f"{value:f}" if isinstance(value, Decimal) else value


def of_row(value: Scalar, kind: Kind) -> Scalar:
    """Return a scalar of a row's JSON as the value that it is of a field of a kind."""
    if kind == "decimal" and isinstance(value, str):
        try:
            return Decimal(value)
        except InvalidOperation:
            return value  # a broken row may hold anything
    return value


def _spell(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
