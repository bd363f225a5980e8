"""Output lines, such as those of `slackwater run`, as frames for expectations.

The frames have the same columns as those of `RunTables`. Lines contain no counts: `dead` counts the
dead-letter lines, and the other counts are the definition's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Final

import pandas as pd
import pyarrow as pa

from chaos.quality.batches import COUNTED, counted, there_still, to_pandas
from chaos.quality.columns import ROW_COLUMNS, key_columns, value_columns
from chaos.quality.finality import Reached
from chaos.readers.output import Output
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import Flow
from windowing.semantics import LogEntry, evaluate

_INSTANT: Final = pa.timestamp("us", tz="UTC")
_TYPES: Final = {
    **dict.fromkeys(("window_start", "window_end"), _INSTANT),
    **dict.fromkeys(("run", "query", "pane"), pa.string()),
    **dict.fromkeys(("window_id", "revision", "records", "batch_id"), pa.int64()),
}
_KINDS: Final = {"int": pa.int64(), "float": pa.float64(), "string": pa.string()}
_INFINITE: Final = {"Infinity": float("inf"), "-Infinity": float("-inf")}


class RunLines:
    """The rows and dead letters of a run, from lines.

    Args:
        found: the lines, from a reader.
        pipeline: the pipeline.
        log: the log of the run.
    """

    def __init__(self, found: Output, pipeline: Pipeline, log: Sequence[LogEntry]) -> None:
        self._pipeline, self._log = pipeline, log
        self._rows = [json.loads(line) for _, line in found.rows]
        self._dead = [json.loads(line) for _, line in found.dead]

    def rows(self, query: Flow) -> pd.DataFrame:
        """All revisions of a query, as flat columns; `RunTables` says what is left out."""
        own = [row for row in self._rows if row["query"] == query.name]
        own = [row for row in own if row.get("op") != "retract"]
        columns: dict[str, Any] = {
            name: pa.array([row.get(name) for row in own], _TYPES[name]) for name in ROW_COLUMNS
        }
        fields = self._pipeline.source.fields
        key_kinds = query.key_kinds(fields)
        for at, (field, column) in enumerate(key_columns(query).items()):
            columns[column] = pa.array([row["key"][at] for row in own], _KINDS[key_kinds[field]])
        kinds = query.value_types(fields)
        for name, column in value_columns(query).items():
            kind = _KINDS[kinds[name].kind]
            values = [_restored(row["values"][name], kind) for row in own]
            columns[column] = pa.array(values, pa.list_(kind) if kinds[name].many else kind)
        rows = to_pandas(pa.table(columns))
        if "absorbed_by" not in query.marks:
            return rows
        gone = pd.Series([row.get("absorbed_by") is not None for row in own], dtype=bool)
        return there_still(rows, gone, query)

    def counts(self, queries: Iterable[str]) -> pd.DataFrame:
        """Return the accounting of records: one row per query, with read, applied, …, dead."""
        letters = pd.DataFrame(self._dead, columns=["query", "reason"], dtype=object)
        return counted(self._metrics, letters, queries)

    def reached(self) -> Reached:
        """Return nothing: lines do not tell how far the run was when they were read."""
        return {}

    def size(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    @cached_property
    def _metrics(self) -> pd.DataFrame:
        counts = evaluate(self._pipeline, self._log).counts
        rows = [
            {"query": query, "batch_id": 0, **{name: getattr(found, name) for name in COUNTED}}
            for query, found in counts.items()
        ]
        return pd.DataFrame(rows, columns=["query", "batch_id", *COUNTED])


def _restored(value: Any, kind: pa.DataType) -> Any:
    """Return a value as before its conversion to JSON, which has no infinities."""
    if isinstance(value, list):
        return [_restored(one, kind) for one in value]
    is_spelled = kind == pa.float64() and isinstance(value, str)
    return _INFINITE[value] if is_spelled else value
