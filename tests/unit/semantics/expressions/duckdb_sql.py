"""Expressions as DuckDB writes them, for what it means alike."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Self

from windowing.model.expressions.check import type_of
from windowing.model.expressions.tree import Call, Constant, Expression, Name
from windowing.model.types import FieldType

_TYPES = {"int": "BIGINT", "float": "DOUBLE", "string": "VARCHAR", "bool": "BOOLEAN"}
_TYPES |= {"date": "DATE", "timestamp": "BIGINT"}
_INFIX = {"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "||"}


class DuckDBFailure(Exception):
    """It has no value for an expression, or one that is not finite."""


class DuckDB:
    """One connection for many expressions."""

    def __init__(self) -> None:
        # Loaded before tests are collected, it would be frozen with them and report leaks.
        import duckdb

        self._connection, self._error = duckdb.connect(), duckdb.Error
        self._connection.execute("SET threads = 1")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        vars(self).clear()

    def value(
        self, tree: Expression, types: Mapping[str, FieldType], values: Mapping[str, Any]
    ) -> Any:
        """Return its value, as `windowing.model.types` has values.

        Raises:
            DuckDBFailure: it has none.
        """
        columns = ", ".join(
            f"{_literal(values[name], type_)} AS {_quoted(name)}" for name, type_ in types.items()
        )
        wanted = written(tree)
        if type_of(tree, types, "").kind == "timestamp":
            wanted = f"epoch_us({wanted})"
        query = f"SELECT {wanted} FROM (SELECT {columns or '1 AS one'})"  # noqa: S608
        try:
            found = self._connection.execute(query).fetchall()[0][0]
        except self._error as error:
            raise DuckDBFailure(str(error)) from None
        if isinstance(found, float):
            if not math.isfinite(found):
                raise DuckDBFailure("not finite")
            return found + 0.0
        return found.isoformat() if isinstance(found, date) else found


def _type(type_: FieldType) -> str:
    if type_.kind == "decimal":
        return f"DECIMAL({type_.precision},{type_.scale})"
    return _TYPES[type_.kind]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def _literal(value: Any, type_: FieldType | None) -> str:
    if type_ is None:
        return "NULL"
    if value is None:
        return f"CAST(NULL AS {'TIMESTAMP' if type_.kind == 'timestamp' else _type(type_)})"
    if type_.kind == "timestamp":
        return f"make_timestamp(CAST({_text(value)} AS BIGINT))"
    shown = f"{value:f}" if isinstance(value, Decimal) else value
    return f"CAST({_text(shown)} AS {_type(type_)})"


def written(node: Expression) -> str:
    """Return an expression in DuckDB's language."""
    if isinstance(node, Constant):
        return _literal(node.value, node.type)
    if isinstance(node, Name):
        return _quoted(node.name)
    name, parts = node.function, [written(one) for one in node.arguments]
    if name in _INFIX:
        return f"({parts[0]} {name} {parts[1]})"
    if name in ("and", "or"):
        return "(" + f" {name.upper()} ".join(parts) + ")"
    if name == "in":
        return f"({parts[0]} IN ({', '.join(parts[1:])}))"
    if name == "case":
        pairs = zip(parts[:-1:2], parts[1::2], strict=True)
        whens = " ".join(f"WHEN {condition} THEN {result}" for condition, result in pairs)
        return f"(CASE {whens} ELSE {parts[-1]} END)"
    if name in ("date_trunc", "extract"):
        return _of_calendar(node, parts[0])
    if name == "like":
        parts.append(_text(node.detail[0]))
    elif node.to is not None:
        parts.append(_type(node.to))
    else:
        parts += map(str, node.detail)
    plain = {
        "not": "(NOT {0})",
        "is_null": "({0} IS NULL)",
        "between": "({0} BETWEEN {1} AND {2})",
        "negate": "(- {0})",
        "like": "({0} LIKE {1})",
        "add_interval": "({0} + to_microseconds({1}))",
        "cast": "CAST({0} AS {1})",
    }
    if name in plain:
        return plain[name].format(*parts)
    return f"{name}({', '.join(parts)})"


def _of_calendar(node: Call, instant: str) -> str:
    unit, *zones = node.detail
    local = f"timezone({_text(str(zones[0]))}, timezone('UTC', {instant}))" if zones else instant
    if node.function == "extract":
        return f"extract({unit} FROM {local})"
    cut = f"date_trunc({_text(unit)}, {local})"
    return f"timezone('UTC', timezone({_text(str(zones[0]))}, {cut}))" if zones else cut
