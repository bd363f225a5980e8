"""Keys and units as columns, and the columns whose hash selects the shard."""

from __future__ import annotations

from windowing.engine.columns import field_column
from windowing.model import Query
from windowing.model.file.pipeline import Source


def key_columns(query: Query) -> list[str]:
    """Return the columns of a row's key, each once."""
    return list(dict.fromkeys(field_column(name) for name in query.key))


def unit_columns(query: Query) -> list[str]:
    """Return the column of PATTR, whose values have their own windows; empty: one unit."""
    return [] if query.window.pattr is None else [field_column(query.window.pattr)]


def route(query: Query, source: Source) -> list[str]:
    """Return the columns whose hash selects a record's shard.

    Windows over rows, and windows that records define, belong to a unit, not to a key; and a shard
    needs all bounds for the keys that it closes.
    """
    if not query.window.traits.per_key:
        return unit_columns(query)
    attribute = source.ordered_by(query.window.attribute)
    promised = source.generator_of(attribute).progress_attr
    return key_columns(query) if promised is None else [field_column(promised)]
