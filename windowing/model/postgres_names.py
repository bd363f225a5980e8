"""Which names a query may have where its rows go to PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

_COLUMNS = frozenset(
    {"row_id", "run", "query", "window_id", "window_start", "window_end"}
    | {"pane", "revision", "records", "offsets", "batch_id", "lag_us", "op", "absorbed_by"}
)
_NAME_BYTES = 63


def check_postgres_names(query: str, columns: Sequence[str]) -> None:
    """A query becomes a table, and its key fields and aggregates become columns beside the sink's.

    Args:
        query: its name.
        columns: its key fields and the names of its aggregates.

    Raises:
        ValueError: a name is taken, stands twice, or cannot be PostgreSQL's.
    """
    for column in columns:
        if column in _COLUMNS or columns.count(column) > 1:
            msg = f"the PostgreSQL table has a column {column!r} already: give it another name"
            raise ValueError(msg)
    for name in (query, *columns):
        if len(name.encode()) > _NAME_BYTES or "\0" in name or "%" in name:
            msg = f"{name!r} cannot name a PostgreSQL table or column: use 1 to 63 bytes without %"
            raise ValueError(msg)
