"""How existing tables adapt to a changed pipeline.

A new aggregate is a new column, a new query a new table; earlier rows, and rows of runs whose
pipeline lacks the column, have null there. A column of another type, or another key, is a conflict:
such rows need a separate table. From schemas to sentences: nothing is read or written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from windowing.model.run_errors import TableConflict

KEY = "key"

Schemas = Mapping[str, pa.Schema]
"""The columns of tables, by table name."""


def conflicts(have: Schemas, want: Schemas) -> list[str]:
    """Return why tables of `have` cannot take rows of `want`, a clause each; empty: they can."""
    return [
        clash
        for name, schema in want.items()
        if name in have
        for clash in _of_table(name, have[name], schema)
    ]


def check(place: object, have: Schemas, want: Schemas) -> None:
    """Check that tables can take the rows of a pipeline.

    Raises:
        TableConflict: they cannot.
    """
    if clashes := conflicts(have, want):
        raise TableConflict(refusal(place, clashes))


def refusal(place: object, clashes: Sequence[str]) -> str:
    """Return the message about tables that cannot take rows."""
    return (
        f"{place} cannot take the rows of this pipeline: {'; '.join(clashes)}: name another sink, "
        "or leave it to `slackwater submit`, which gives a new run tables of its own"
    )


def additions(have: Schemas, want: Schemas) -> list[str]:
    """Return what the tables of `have` lack, a clause each; they must not conflict."""
    news = []
    for name, schema in want.items():
        if name not in have:
            news.append(f"new table {name}")
            continue
        there = dict(_columns(have[name]))
        added = [(c, type_) for c, type_ in _columns(schema) if c not in there]
        news += [f"new column {name}.{column} ({spelled(type_)})" for column, type_ in added]
    return news


def conformed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows with the columns of a table, null where their pipeline has none.

    Args:
        rows: those of a pipeline that does not conflict with the table.
        schema: the table's, which has all columns of the rows.
    """
    columns = [
        rows[field.name].cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def spelled(type_: pa.DataType) -> str:
    """Return a type in the words of a pipeline file."""
    if pa.types.is_struct(type_):
        return "{" + ", ".join(f"{part.name}: {spelled(part.type)}" for part in type_) + "}"
    if pa.types.is_list(type_):
        return f"list of {spelled(type_.value_type)}"
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_timestamp(type_):
        return "timestamp"
    return {"int64": "int", "int32": "int", "double": "float", "date32[day]": "date"}.get(
        str(type_), str(type_)
    )


def _of_table(name: str, have: pa.Schema, want: pa.Schema) -> Iterator[str]:
    keys = [_key(schema) for schema in (have, want)]
    if keys[0] != keys[1]:
        was, now = ("{" + ", ".join(f"{k}: {t}" for k, t in key.items()) + "}" for key in keys)
        yield f"the key of table {name} is {was}, and is to be {now}"
    there = dict(_columns(have))
    for column, type_ in _columns(want):
        is_of_key = column.partition(".")[0] == KEY
        if not is_of_key and column in there and spelled(there[column]) != spelled(type_):
            yield f"{name}.{column} is {spelled(there[column])}, and is to be {spelled(type_)}"


def _key(schema: pa.Schema) -> dict[str, str]:
    parts = schema.field(KEY).type if KEY in schema.names else []
    return {part.name: spelled(part.type) for part in sorted(parts, key=lambda part: part.name)}


def _columns(schema: pa.Schema) -> Iterator[tuple[str, pa.DataType]]:
    """Return the optional columns of rows, with structs flattened."""
    for field in schema:
        if pa.types.is_struct(field.type):
            yield from ((f"{field.name}.{part.name}", part.type) for part in field.type)
        else:
            yield field.name, field.type
