"""Which revisions are sent where rows have to fulfil `having`, value by value.

A row that holds is sent. One that does not is sent if the row before it held, which it withdraws:
as a tombstone or, where rows are retracted, by that retraction alone. A session that is gone has
no content to hold; its tombstone is sent if there is anything to withdraw.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from windowing.model.query import Query
from windowing.model.rows import Key, Row
from windowing.model.types import FieldType
from windowing.semantics.expressions import ExpressionFailure, value_of


class _Finite(dict[str, Any]):
    """Values of a row, of which an infinite one is none to whoever asks for it."""

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if isinstance(found, float) and math.isinf(found):
            raise ExpressionFailure("not finite")
        return found


def holds(query: Query, types: Mapping[str, FieldType], row: Row) -> bool:
    """Return whether a row of a query fulfils its condition; without one, each does.

    Args:
        types: of the names in the condition.
    """
    if query.having is None:
        return True
    shown = {**dict(zip(query.key, row.key, strict=True)), **row.values}
    named = _Finite((name, shown[name]) for name in types)
    try:
        return value_of(query.having.expression, types, named) is True
    except ExpressionFailure:
        return False


def sent(query: Query, fields: Mapping[str, FieldType], rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows that are sent.

    Args:
        fields: of the pipeline's source.
        rows: all, those of a window in their order.
    """
    if query.having is None:
        yield from rows
        return
    types = query.having_types(fields)
    held: dict[tuple[int, Key], bool] = {}
    for row in rows:
        window = row.window_id, row.key
        held_before = held.get(window, False)
        if row.retracts:
            if held_before:
                yield row
            continue
        held[window] = row.absorbed_by is None and holds(query, types, row)
        if held[window] or (held_before and row.absorbed_by is not None):
            yield row
        elif held_before and query.accumulation != "retracting":
            yield replace(row, tombstone=True)
