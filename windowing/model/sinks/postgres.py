"""PostgreSQL's rules: names of tables and columns, and its earliest time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from windowing.model.errors import WindowError
from windowing.model.sinks.rules import SinkRules
from windowing.model.windows.window import Window

_COLUMNS = frozenset(
    {"row_id", "run", "query", "window_id", "window_start", "window_end"}
    | {"pane", "revision", "records", "offsets", "batch_id", "lag_us", "op", "absorbed_by"}
)
_NAME_BYTES = 63

POSTGRES_EARLIEST: Final = -(2 * 10**17)
"""No window may begin before this: 340 years after PostgreSQL's earliest timestamp, 4714 BC."""


def _check_names(query: str, columns: Sequence[str]) -> None:
    """Check a query's table name, and its column names, which stand beside the sink's own.

    Args:
        query: its name.
        columns: its key fields and the names of its aggregates.

    Raises:
        ValueError: a name is taken, duplicated, or invalid in PostgreSQL.
    """
    for column in columns:
        if column in _COLUMNS or columns.count(column) > 1:
            msg = f"the PostgreSQL table has a column {column!r} already: give it another name"
            raise ValueError(msg)
    for name in (query, *columns):
        if len(name.encode()) > _NAME_BYTES or "\0" in name or "%" in name:
            msg = f"{name!r} cannot name a PostgreSQL table or column: use 1 to 63 bytes without %"
            raise ValueError(msg)


def _check_window(window: Window) -> None:
    """Check that PostgreSQL can hold the start of a window at the origin.

    Raises:
        WindowError: E_VALUE.
    """
    if window.origin < POSTGRES_EARLIEST:
        rule = f"at least {POSTGRES_EARLIEST} for a PostgreSQL sink, whose times begin in 4714 BC"
        raise WindowError("E_VALUE", f"ORIGIN {window.origin}, and must be {rule}")


RULES: Final = SinkRules(
    "PostgreSQL",
    place="the schema",
    name_most=_NAME_BYTES,
    earliest=POSTGRES_EARLIEST,
    takes_one=True,
    check_names=_check_names,
    check_window=_check_window,
)
"""The rules of `sink: {postgres: NAME}`."""
