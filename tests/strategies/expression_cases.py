"""The table of cases of expressions: `tests/cases/expressions/*.jsonl`, a case a line.

Keys: `expression`; `types` and `record` of the names in it; `is` or `fails`; `type`, where it is
looked at; `duckdb`, where DuckDB means the same. Decimals are texts, as in rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from windowing.model.expressions.check import type_of
from windowing.model.expressions.parse import parse_expression
from windowing.model.expressions.tree import Expression
from windowing.model.types import FieldType, parse_field_type

FOLDER = Path(__file__).parents[1] / "cases" / "expressions"


FILES = tuple(sorted(path.stem for path in FOLDER.glob("*.jsonl")))


@dataclass(frozen=True)
class ExpressionCase:
    """One case.

    Attributes:
        name: its file and line.
        types, values: of the names in it, as `windowing.model.types` has values.
        type: of the result; None: not looked at.
        fails: there is no result.
        result: the value; None: null, or none.
        duckdb: whether DuckDB means the same.
    """

    name: str
    text: str
    types: Mapping[str, FieldType]
    values: Mapping[str, Any]
    type: str | None
    fails: bool
    result: Any
    duckdb: bool

    def parsed(self) -> tuple[Expression, FieldType]:
        """The tree, and its type."""
        tree = parse_expression(self.text)
        return tree, type_of(tree, self.types, self.text)

    def expected(self, type_: FieldType) -> Any:
        """The value that must come out, given its type."""
        decimal = type_.kind == "decimal" and self.result is not None
        return Decimal(self.result) if decimal else self.result


def expression_cases(*files: str) -> Iterator[ExpressionCase]:
    """The cases of some files of the table; of none: of all."""
    for path in (FOLDER / f"{file}.jsonl" for file in files or FILES):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            raw = json.loads(line)
            types = {name: parse_field_type(text) for name, text in raw.get("types", {}).items()}
            yield ExpressionCase(
                f"{path.stem}:{number}",
                raw["expression"],
                types,
                {name: _value(types[name], value) for name, value in raw.get("record", {}).items()},
                raw.get("type"),
                raw.get("fails", False),
                raw.get("is"),
                raw.get("duckdb", False),
            )


def _value(type_: FieldType, value: Any) -> Any:
    return Decimal(value) if type_.kind == "decimal" and value is not None else value


def is_same(found: object, wanted: object) -> bool:
    """Whether a value is the one that is wanted, of its kind and with its digits and sign."""
    if type(found) is not type(wanted):
        return False
    if isinstance(found, Decimal) and isinstance(wanted, Decimal):
        return found.as_tuple() == wanted.as_tuple()
    return found == wanted and str(found) == str(wanted)
