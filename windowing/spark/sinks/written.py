"""What a sink reports of a batch that it has written: counts, from rows that it holds anyway."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa

from windowing.spark.sinks.rows import DEAD_LETTERS, METRICS

RETRACTION = "retraction"
"""In place of a pane, for rows that take an earlier one back."""


class Portion(msgspec.Struct, frozen=True, array_like=True):
    """A number of rows of a table that have something in common.

    Attributes:
        table: the table's name: a query's, or that of the dead letters.
        what: the rows' pane, or `RETRACTION`; the reason of dead letters.
        query: the query that dead letters are of; None: of all.
    """

    table: str
    what: str
    count: int
    lane: str | None = None
    query: str | None = None


@dataclass(frozen=True)
class WrittenBatch:
    """A batch that is in a sink.

    Attributes:
        lanes: the rows of the table `metrics`; None: no lane reported any.
    """

    batch_id: int
    portions: Sequence[Portion]
    lanes: pa.Table | None


OnWritten = Callable[[WrittenBatch], None]
"""A function that is called with each batch, once it is written."""


def ignore(batch: WrittenBatch) -> None:
    """Do nothing."""
    del batch


def written(
    batch_id: int, tables: Mapping[str, pa.Table], more: Iterable[Portion] = ()
) -> WrittenBatch:
    """Return what to report of a batch.

    Args:
        tables: its rows, by table.
        more: what others have counted.
    """
    return WrittenBatch(batch_id, [*portions_of(tables), *more], tables.get(METRICS))


def portions_of(tables: Mapping[str, pa.Table]) -> list[Portion]:
    """Count the rows of a batch's tables, except those of metrics."""
    found: list[Portion] = []
    for name, rows in tables.items():
        if name != METRICS:
            found += _letters(name, rows) if name == DEAD_LETTERS else _results(name, rows)
    return found


def _results(name: str, rows: pa.Table) -> Iterable[Portion]:
    by = [column for column in ("pane", "op") if column in rows.column_names]
    for group in _counted(rows, by):
        what = RETRACTION if group.get("op") else group["pane"]
        yield Portion(name, what, group["count_all"])


def _letters(name: str, rows: pa.Table) -> Iterable[Portion]:
    for group in _counted(rows, ["source", "partition", "query", "reason"]):
        lane = f"{group['source']}/{group['partition']}"
        yield Portion(name, group["reason"], group["count_all"], lane, group["query"])


def _counted(rows: pa.Table, by: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rows.group_by(by).aggregate([([], "count_all")]).to_pylist()
    return found
