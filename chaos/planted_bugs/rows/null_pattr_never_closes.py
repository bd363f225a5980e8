"""Windows of rows for each value of PATTR except null.

Defect: the row count of the null unit is looked up by equality, and never found.
How one gets it: SQL's `NULL = NULL`.
Expected: rows are missing.
"""

from __future__ import annotations

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import by_pattr, nullable_key, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.progress.reached import looked_up
from windowing.engine.wids import Ints
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.windows.window import ROW_NUM


def over_rows(_: Pipeline, query: Query) -> bool:
    """Whether windows are over row numbers."""
    return query.window.attribute == ROW_NUM


def by_equality(units: pl.DataFrame, table: pl.DataFrame, name: str, default: int) -> Ints:
    """Return a column of `table`, without matches for null keys."""
    keys = [column for column in table.columns if column in units.columns and column != name]
    return looked_up(units, table.drop_nulls(keys), name, default)


BUG = planted_bug(
    planted(
        "null_pattr_never_closes",
        names={
            "windowing.engine.progress.reached:looked_up": by_equality,
            "windowing.engine.windows.rows:looked_up": by_equality,
        },
    ),
    *("deterministic", "closing"),
    shows_in=some_query(over_rows, by_pattr, nullable_key),
)
