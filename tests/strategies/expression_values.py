"""Values for the names in drawn expressions: often those at which something happens."""

import random
from decimal import Decimal
from typing import Any

from chaos.simulator.draw.values import HARD_FLOATS
from windowing.model.types import FieldType

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
