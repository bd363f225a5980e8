"""The flat columns of a query's rows, for expectations.

First come the columns of a row by their names in the table, then the fields of the key, then the
aggregates. A duplicate name gets the prefix `key.` or `values.`: an aggregate called `records` is
the column `values.records`, since `records` is the number of records in the window. The offsets per
lane are omitted because they are lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from windowing.model.query import Flow
from windowing.model.rows import TAKE_BACK
from windowing.model.types import FieldType

ROW_COLUMNS: Final = (
    "run",
    "query",
    "window_id",
    "window_start",
    "window_end",
    "pane",
    "revision",
    "records",
    "batch_id",
)

OVERFLOW: Final = "overflow"
"""The names of a row's sums that leave int64, as text; only of queries that can overflow."""


def row_columns(query: Flow, fields: Mapping[str, FieldType]) -> tuple[str, ...]:
    """The columns that are read of a query's rows: those of all tables, and some of its own."""
    more = (OVERFLOW,) if query.may_overflow(fields) else ()
    return (*ROW_COLUMNS, *more, *taking_back(query))


def taking_back(query: Flow) -> tuple[str, ...]:
    """The columns by which rows withdraw others, where none may follow: they are not judged."""
    return () if query.having is None else tuple(one for one in TAKE_BACK if one in query.marks)


def key_columns(query: Flow) -> dict[str, str]:
    """The column of each field of the key, PATTR first, then in the order of `group_by`."""
    return dict(
        _flat(dict.fromkeys(query.key), "key.", {*ROW_COLUMNS, OVERFLOW, *taking_back(query)})
    )


def value_columns(query: Flow) -> dict[str, str]:
    """The column of each aggregate, in the order of the file."""
    taken = {*ROW_COLUMNS, OVERFLOW, *taking_back(query), *key_columns(query).values()}
    return dict(_flat(query.shows, "values.", taken))


def window_columns(query: Flow) -> list[str]:
    """The columns that name a window of one key, or what else has revisions."""
    columns = key_columns(query)
    if query.revised_by is not None:
        return [columns[name] for name in query.revised_by]
    return ["window_id", *columns.values()]


def column_names(query: Flow) -> list[str]:
    """All columns, in their order."""
    return [*ROW_COLUMNS, *key_columns(query).values(), *value_columns(query).values()]


def _flat(names: Iterable[str], prefix: str, taken: set[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        column = name
        while column in taken:
            column = prefix + column
        taken.add(column)
        yield name, column
