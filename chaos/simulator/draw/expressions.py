"""Draw expressions that have types, as text, and values for the names in them.

A template has holes: a kind stands for any expression of that kind, `same` for any kind that is
drawn once for a template. Parentheses are left out at times, so that precedence matters; what then
has another type, or a scale beyond 38 digits, is drawn again.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, get_args

from chaos.simulator.draw.values import HARD_FLOATS
from windowing.model.expressions.check import CASTS, type_of
from windowing.model.expressions.functions import EXTRACT_UNITS, INTERVAL_UNITS, TRUNC_UNITS
from windowing.model.expressions.names import written
from windowing.model.expressions.parse import parse_expression
from windowing.model.types import FieldType, Kind

Templates = Mapping[str, Sequence[str]]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_NUMBERS = ("int", "int", "decimal", "float")
_HOLE = re.compile(r"\{(\w+)\}")
_OF_ANY: Final = (
    "CASE WHEN {bool} THEN {K} ELSE {K} END",
    "CASE WHEN {bool} THEN {K} WHEN {bool} THEN {K} END",
    "CASE {same} WHEN {same} THEN {K} ELSE {K} END",
    "coalesce({K}, {K})",
    "coalesce(NULL, {K}, {K})",
    "nullif({K}, {K})",
    "least({K}, {K})",
    "greatest({K}, NULL, {K})",
)
_OF_NUMBERS: Final = ("{K} + {K}", "{K} - {K}", "{K} * {K}", "-{K}", "abs({K})", "{K} + {K} * {K}")
_ROUNDED: Final = ("floor({K})", "ceil({K})", "round({K}, {places})")
_CASTS: Final = {
    to: [f"cast({{{kind}}} AS {{{to}_type}})" for kind in KINDS if to in CASTS[kind]]
    for to in KINDS
}
_OWN: Final[Mapping[Kind, Sequence[str]]] = {
    "bool": (
        *("{bool} AND {bool}", "{bool} OR {bool}", "NOT {bool}", "{bool} AND {bool} OR {bool}"),
        *("{same} IS NULL", "{same} IS NOT NULL", "{same} {compares} {same}"),
        *(
            "{number} {compares} {number}",
            "{same} IN ({same}, {same})",
            "{number} IN ({number}, 1)",
        ),
        *("{same} NOT IN ({same}, NULL)", "{same} BETWEEN {same} AND {same}"),
        *("{number} NOT BETWEEN {number} AND {number}", "{string} LIKE {pattern}"),
        *("{string} NOT LIKE {pattern}", "starts_with({string}, {string})"),
    ),
    "int": (
        *(*_OF_NUMBERS, *_ROUNDED, "{int} div {int}", "{int} mod {int}", "length({string})"),
        *("{timestamp} - {timestamp}", "extract({part} FROM {timestamp})"),
        "extract({part} FROM {timestamp}, {zone})",
    ),
    "float": (
        *(*_OF_NUMBERS, *_ROUNDED, "{int} / {int}", "{float} / {number}", "{number} * {float}"),
        "{float} - {number}",
    ),
    "decimal": (
        *(*_OF_NUMBERS, *_ROUNDED, "{decimal} / {int}", "{decimal} / {decimal}"),
        *("{int} * {decimal}", "{decimal} + {int}", "least({int}, {decimal})"),
    ),
    "string": (
        *("{string} || {string}", "lower({string})", "upper({string})", "trim({string})"),
        *(
            "substr({string}, {few})",
            "substr({string}, {few}, {few})",
            "substr({string}, {int}, 2)",
        ),
    ),
    "timestamp": (
        *("{timestamp} + INTERVAL {interval}", "{timestamp} - INTERVAL {interval}"),
        *("date_trunc({unit}, {timestamp})", "date_trunc({unit}, {timestamp}, {zone})"),
    ),
    "date": (),
}
TEMPLATES: Final[Templates] = {
    kind: [one.replace("{K}", f"{{{kind}}}") for one in (*_OWN[kind], *_CASTS[kind], *_OF_ANY)]
    for kind in KINDS
}
"""All that expressions have, by the kind of the result."""

_LEAVES: Final[Mapping[str, Sequence[str]]] = {
    "int": ("0", "1", "-1", "2", "3", "7", "10", "9223372036854775807", "-9223372036854775808"),
    "float": (
        "cast(0.5 AS float)",
        "cast(2 AS float)",
        "cast(-0.1 AS float)",
        "cast('1e300' AS float)",
    ),
    "decimal": ("0.0", "1.0", "-0.5", "2.50", "0.001", "99999999999999999999.5"),
    "string": ("''", "'a'", "'ab'", "'12'", "'-1.5'", "'true'", "'2026-01-31'", "'é😀'", "' a'"),
    "bool": ("TRUE", "FALSE"),
    "timestamp": (
        *("TIMESTAMP '1970-01-01T00:00:00Z'", "TIMESTAMP '2025-10-26T01:30:00.123456Z'"),
        *("TIMESTAMP '2025-03-30 02:30+01:00'", "TIMESTAMP '9999-12-31T23:59:59Z'"),
    ),
    "date": ("DATE '1970-01-01'", "DATE '2024-02-29'", "DATE '9999-12-31'", "DATE '0001-01-01'"),
    "compares": ("=", "<>", "<", "<=", ">", ">="),
    "pattern": ("'%'", "'a%'", "'_'", "'%a_'", "''", "'%a%b%'", "'_😀'"),
    "places": ("0", "1", "2", "-1", "-2", "7"),
    "few": ("0", "1", "2", "3", "5"),
    "part": EXTRACT_UNITS,
    "unit": tuple(f"'{unit}'" for unit in TRUNC_UNITS),
    "zone": ("'Europe/Berlin'", "'America/Sao_Paulo'", "'Asia/Kolkata'", "'UTC'"),
    "interval": tuple(f"'{number} {unit}s'" for unit in INTERVAL_UNITS for number in (0, 1, 36)),
    **{f"{kind}_type": (kind,) for kind in KINDS},
    "decimal_type": ("decimal(12,2)", "decimal(38,10)", "decimal(5,0)", "decimal(38,38)"),
}

_INTS = (0, 0, 1, -1, 2, 3, -7, 10, 2**31, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63))
_FLOATS = (0.5, -0.5, 1.5, 2.5, 1e15, 2.675, 1.005, *HARD_FLOATS)
_TEXTS: tuple[str, ...] = (
    "",
    "a",
    "b",
    "ab",
    "aab",
    " a ",
    "A",
    "é",
    "😀",
    "é😀",
    "a\nb",
    "12",
    "-3",
    "1.50",
    "1e2",
)
_TEXTS += ("true", "2026-01-31", "2025-03-30T01:00:00Z", "it's", "%", "_", "\uffff")
_DATES = ("1970-01-01", "2024-02-29", "2025-03-30", "2026-12-31", "0001-01-01", "9999-12-31")
_DAY = 86_400_000_000
_TIMES: tuple[int, ...] = (
    0,
    -1,
    1,
    1_743_296_400_000_000,
    1_761_442_200_000_000,
    1_541_300_400_000_000,
)
_TIMES += (-62_135_596_800_000_000, 253_402_300_799_999_999, -(2**62), 2**63 - 1)


def draw_value(rng: random.Random, type_: FieldType) -> Any:
    """Draw a value of a type: seldom null, often one at which something happens."""
    if type_.nullable and rng.random() < 0.2:
        return None
    if type_.kind == "decimal":
        return _decimal(rng, type_)
    if type_.kind == "int":
        return rng.choice(_INTS) if rng.random() < 0.6 else rng.randint(-12, 12)
    if type_.kind == "float":
        return (rng.choice(_FLOATS) if rng.random() < 0.6 else rng.uniform(-1e3, 1e3)) + 0.0
    if type_.kind == "bool":
        return rng.random() < 0.5
    if type_.kind == "timestamp":
        return rng.choice(_TIMES) if rng.random() < 0.5 else rng.randint(0, 30_000 * _DAY)
    return rng.choice(_DATES if type_.kind == "date" else _TEXTS)


def _decimal(rng: random.Random, type_: FieldType) -> Decimal:
    most = 10**type_.precision - 1
    one = 10**type_.scale
    size = rng.choice((0, 1, 5, one, one // 2, 3 * one // 2, most, most // 2, rng.randint(0, most)))
    digits = tuple(map(int, str(min(size, most))))
    return Decimal((int(size > 0 and rng.random() < 0.4), digits, -type_.scale))


def draw_expression(
    rng: random.Random,
    types: Mapping[str, FieldType],
    kind: Kind,
    *,
    depth: int = 3,
    templates: Templates = TEMPLATES,
) -> str:
    """Draw an expression of a kind.

    Args:
        types: the names that may stand in it.
        depth: how many calls stand in each other at most.
        templates: what it is made of.
    """
    drawer = _Drawer(rng, types, templates)
    for _ in range(20):
        text = drawer.of(kind, depth)
        try:
            if type_of(parse_expression(text), types, text).kind == kind:
                return text
        except ValueError:  # a scale beyond 38, or operands that precedence has given to another
            continue
    return drawer.leaf(kind)


class _Drawer:
    def __init__(
        self, rng: random.Random, types: Mapping[str, FieldType], templates: Templates
    ) -> None:
        self._rng, self._templates = rng, templates
        self._names = {
            kind: [written(name) for name, type_ in types.items() if type_.kind == kind]
            for kind in KINDS
        }

    def leaf(self, kind: str) -> str:
        names = self._names.get(kind)  # type: ignore[call-overload]
        if names and self._rng.random() < 0.75:
            return str(self._rng.choice(names))
        return self._rng.choice(_LEAVES[kind])

    def of(self, kind: str, depth: int) -> str:
        made = self._templates.get(kind)
        if not made or depth == 0 or self._rng.random() < 0.1:
            return self.leaf(kind)
        template, same = self._rng.choice(made), self._rng.choice(KINDS)
        return _HOLE.sub(lambda hole: self._filled(hole[1], same, depth - 1), template)

    def _filled(self, hole: str, same: Kind, depth: int) -> str:
        kind = {"same": same, "number": self._rng.choice(_NUMBERS)}.get(hole, hole)
        text = self.of(kind, depth)
        simple = kind not in KINDS or re.fullmatch(r"\w+|'\w*'", text)
        return text if simple or self._rng.random() < 0.2 else f"({text})"
