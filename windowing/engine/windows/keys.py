"""Keys and units as columns, and the columns whose hash leads to a shard."""

from __future__ import annotations

from windowing.engine.columns import field_column
from windowing.model import Query
from windowing.model.file.pipeline import Source
from windowing.model.progress.disorder import progress_attr


def key_columns(query: Query) -> list[str]:
    """The columns of a row's key, each once."""
    return list(dict.fromkeys(field_column(name) for name in query.key))


def unit_columns(query: Query) -> list[str]:
    """The column of PATTR, whose values have windows of their own; none: the stream is one unit."""
    return [] if query.window.pattr is None else [field_column(query.window.pattr)]


def route(query: Query, source: Source) -> list[str]:
    """The columns whose hash chooses a record's shard: all that belongs together, and no more.

    Windows of rows, and windows that records define, are of a unit and not of a key; and a shard
    must know all that was promised for the keys that it closes.
    """
    if not query.window.traits.per_key:
        return unit_columns(query)
    attribute = source.ordered_by(query.window.attribute)
    promised = progress_attr(source.generator_of(attribute))
    return key_columns(query) if promised is None else [field_column(promised)]
