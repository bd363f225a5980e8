"""Records with a null key that are grouped with those whose key is the empty string.

Defect: null is read as "".
How one gets it: formats or languages without null.
Expected: two groups are merged.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import nullable_key, some_flow
from chaos.planted_bugs.planted import PlantedLane, planted
from windowing.engine.columns import field_column
from windowing.engine.progress.clock import Rows
from windowing.model.file.pipeline import Pipeline
from windowing.model.query import Flow


def by_text(pipeline: Pipeline, query: Flow) -> bool:
    """A text that may be null is a key."""
    fields = pipeline.source.fields
    return any(f in fields and str(fields[f]) == "string?" for f in query.key)


class FillingLane(PlantedLane):
    """Replaces null by the empty string."""

    def _sorted_out(self, chunk: pl.DataFrame, ended: bool) -> Rows:
        rows, fields = super()._sorted_out(chunk, ended), self._source.fields
        texts = [field_column(name) for name, type_ in fields.items() if type_.kind == "string"]
        return replace(rows, data=rows.data.with_columns(pl.col(texts).fill_null("")))


BUG = planted_bug(
    planted("null_key_is_empty_text", lane=FillingLane),
    "deterministic",
    shows_in=some_flow(nullable_key, by_text),
)
