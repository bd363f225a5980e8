"""Types of fields and of results: how each is written in a file, and what its values are.

| kind | written | in Python | in the engine's columns | in rows |
|---|---|---|---|---|
| int | `int` | `int`, 64 bits | Int64 | number |
| float | `float` | `float`, finite, one zero | Float64 | number |
| string | `string` | `str`, Unicode text | String | text |
| bool | `bool` | `bool` | Boolean | `true`, `false` |
| decimal | `decimal(p,s)` | `Decimal`, s digits after the point | Decimal(38, s) | text |
| timestamp | `timestamp` | `int`, microseconds since 1970 | Int64 | number |
| date | `date` | `str`, `YYYY-MM-DD` | String | text |
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, cast, get_args

from windowing.model.errors import meant, shown

Kind = Literal["int", "float", "string", "bool", "decimal", "timestamp", "date"]

PRECISION_MAX: Final = 38
"""The most digits of a decimal: what Arrow, Delta and PostgreSQL hold alike."""

_DECIMAL = re.compile(r"decimal\s*\(\s*([0-9]{1,3})\s*,\s*([0-9]{1,3})\s*\)")


@dataclass(frozen=True)
class FieldType:
    """The type of a field or of an expression.

    Attributes:
        nullable: written `kind?`; null and absent are then the same legal value.
        precision, scale: of a decimal: its digits, and how many of them follow the point.
    """

    kind: Kind
    nullable: bool = False
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        digits = f"({self.precision},{self.scale})" if self.kind == "decimal" else ""
        return self.kind + digits + "?" * self.nullable


def parse_field_type(text: object) -> FieldType:
    """Parse `int`, `float?`, `decimal(12,2)`, ….

    Raises:
        ValueError: the type is unknown, or a decimal has too many digits or none.
    """
    kinds = get_args(Kind)
    if isinstance(text, str):
        kind, nullable = text.strip().removesuffix("?").strip(), text.strip().endswith("?")
        if match := _DECIMAL.fullmatch(kind):
            return _decimal(int(match[1]), int(match[2]), nullable, text)
        if kind in kinds and kind != "decimal":
            return FieldType(cast("Kind", kind), nullable)
    known = ", ".join("decimal(p,s)" if kind == "decimal" else kind for kind in kinds)
    what = f"{shown(text)} is not a type{meant(text, kinds) or ':'}"
    msg = f"{what} use {known}, with ? where null is allowed ('int?')"
    raise ValueError(msg)


def _decimal(precision: int, scale: int, nullable: bool, text: str) -> FieldType:
    if not (1 <= precision <= PRECISION_MAX and scale <= precision):
        msg = (
            f"{shown(text)}: a decimal has 1 to {PRECISION_MAX} digits, and no more of them after "
            "the point, as decimal(12,2)"
        )
        raise ValueError(msg)
    return FieldType("decimal", nullable, precision, scale)
