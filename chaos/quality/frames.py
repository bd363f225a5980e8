"""The output of a run as pandas frames for expectations, whatever its sink.

A query's rows have the flat columns of `columns`. Integers stay integers where some are null, and
instants are microseconds in UTC.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

import pandas as pd
import pyarrow as pa

from chaos.quality.columns import taking_back, window_columns
from chaos.quality.finality import Reached
from windowing.model.fates import DROPPED, READ, Counts, Fates, counted
from windowing.model.fields import ValueType
from windowing.model.query import Flow
from windowing.model.types import PRECISION_MAX, FieldType

INSTANT: Final = pa.timestamp("us", tz="UTC")
_KINDS: Final = {
    "int": pa.int64(),
    "float": pa.float64(),
    "string": pa.string(),
    "bool": pa.bool_(),
    "timestamp": INSTANT,
    "date": pa.date32(),
}


def arrow_type(type_: FieldType | ValueType) -> pa.DataType:
    """Return the type of a column of a field or of a value; of a list, of its elements."""
    if type_.kind == "decimal":
        return pa.decimal128(PRECISION_MAX, type_.scale)
    return _KINDS[type_.kind]


_NULLABLE: Final = {pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype()}
PROGRESS: Final = ("progress_us", "ended")
"""The columns of a run's metrics that hold a lane's progress."""

LATE: Final = ("late", "out_of_retention")
"""Dead-letter reasons that mean lateness."""


class RunOutput(Protocol):
    """The output of a run, from any sink.

    Raises:
        OutputError: a table or a column is missing, or not the pipeline's; all methods raise it.
    """

    def rows(self, query: Flow) -> pd.DataFrame:
        """All revisions of a query, as flat columns.

        Only results are included: no provisional rows, no retractions, and no windows that other
        windows have absorbed.
        """

    def counts(self, queries: Iterable[str]) -> pd.DataFrame:
        """Return the accounting of records, as `counts_of` does."""

    def reached(self) -> Reached:
        """Return the lanes' progress as of a batch that `rows` has; empty: it is not known."""

    def progress(self) -> Mapping[str, int]:
        """Return the progress of lanes that have one and have not ended, as far as is judged."""

    def size(self) -> int:
        """Return the number of rows written for all queries, including provisional ones."""


def there_still(rows: pd.DataFrame, absorbed: pd.Series[bool], query: Flow) -> pd.DataFrame:
    """Leave out the windows that are part of other ones now.

    Args:
        rows: rows of a query, as flat columns.
        absorbed: per row, whether it says that its window was absorbed.
    """
    windows = [rows[column] for column in window_columns(query)]
    gone = absorbed.groupby(windows, dropna=False).transform("any")
    return rows[~gone].reset_index(drop=True)


def still_sent(rows: pd.DataFrame, query: Flow) -> pd.DataFrame:
    """Leave out rows that only withdraw others, and windows of which nothing was sent since.

    Args:
        rows: rows of a query, as flat columns, with those of `taking_back`.
    """
    marks = [*taking_back(query)]
    if not marks:
        return rows
    back = rows[marks].notna().any(axis=1)
    ordered = rows.assign(back=back).sort_values(["revision", "back"], kind="stable")
    windows = [ordered[column] for column in window_columns(query)]
    gone = ordered.groupby(windows, dropna=False)["back"].transform("last")
    return rows[~back & ~gone.reindex(rows.index)].drop(columns=marks).reset_index(drop=True)


def counts_of(
    metrics: pd.DataFrame, letters: pd.DataFrame, queries: Iterable[str], fates: Fates
) -> pd.DataFrame:
    """Return one row per query, with read, each fate, late, bad.

    `dead` counts dead letters; those of all queries count for each query. `late` counts records too
    late for their windows: dropped, or dead letters; `bad` counts the other dead letters.

    Args:
        metrics: the run's own metrics, with the columns `query`, `batch_id` and those of `counted`.
        letters: query and reason of each dead letter; the query is null for those of all queries.
    """
    columns, begun, rows = [*counted(fates)], metrics["batch_id"].min(), []
    sums = {
        query: Counts.of(fates, **{str(name): int(number) for name, number in found.items()})
        for query, found in metrics.groupby("query")[columns].sum().to_dict("index").items()
    }
    nothing = Counts.of(fates)
    longest = max(sums.values(), key=lambda counts: counts.read, default=nothing)
    for query in queries:
        batches = metrics[metrics["query"].eq(query)]
        own = letters[letters["query"].isna() | letters["query"].eq(query)]
        late = int(own["reason"].isin(LATE).sum())
        found = sums.get(query, nothing).but(dead=len(own))
        if len(metrics) and (batches.empty or batches["batch_id"].min() > begun):
            found = found.since_added(longest)
        more = {"bad": len(own) - late, "late": late + found[DROPPED.name]}
        rows.append({"query": query, READ: found.read, **found, **more})
    return pd.DataFrame(rows)


def reached_in(metrics: pd.DataFrame) -> Reached:
    """Return each lane's progress, which never falls.

    Args:
        metrics: the run's own metrics, with the columns `lane` and `PROGRESS`.
    """
    found: dict[str, int | float | None] = {}
    for lane, batches in metrics.groupby("lane"):
        furthest = batches["progress_us"].max()
        ended = batches["ended"].fillna(value=False).any()
        found[str(lane)] = math.inf if ended else None if pd.isna(furthest) else int(furthest)
    return found


def unended(reached: Reached) -> dict[str, int]:
    """Return the progress of the lanes that have one, and have not ended."""
    return {lane: int(us) for lane, us in reached.items() if us is not None and us != math.inf}


def final(query: Flow, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the last revision of each window and key, in the order of the rows.

    A duplicate last revision is kept twice, and a row without revision is kept, so that a check can
    find them.
    """
    last = rows.groupby(window_columns(query), dropna=False)["revision"].transform("max")
    return rows[rows["revision"].eq(last).fillna(value=True)].reset_index(drop=True)


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """Convert to pandas without turning integer columns with nulls into floats."""
    frame: pd.DataFrame = table.to_pandas(types_mapper=_NULLABLE.get)
    return frame
