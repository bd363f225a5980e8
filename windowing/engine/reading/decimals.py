"""Decimals as a log has them: JSON numbers, or texts of such; taken exactly, or not at all."""

from __future__ import annotations

import re
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation
from functools import lru_cache
from typing import Any

from windowing.engine.reading.objects import BadValue, exact_number
from windowing.model.types import FieldType

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
"""The spelling of a JSON number."""


def read_decimal(value: Any, type_: FieldType) -> Decimal:
    """Read an integer, a decimal, or the text of a JSON number; the result has the type's scale.

    Digits count by value: 1.100 has one after the point.

    Raises:
        BadValue: `bad_type`: another value, or more digits than the type has.
    """
    if type(value) is int:
        number = Decimal(value)
    elif isinstance(value, Decimal):
        number = value
    elif isinstance(value, str) and NUMBER.fullmatch(value):
        number = exact_number(value)
    else:
        raise BadValue("bad_type")
    unit, context = _rule(type_.precision, type_.scale)
    try:
        found = number.quantize(unit, context=context)
    except DecimalException:
        raise BadValue("bad_type") from None
    return found if found else found.copy_abs()  # there is one zero


@lru_cache(maxsize=64)
def _rule(precision: int, scale: int) -> tuple[Decimal, Context]:
    """Return the last place of a type, and a context which refuses what has more digits."""
    exactly = Context(prec=precision, traps=[Inexact, InvalidOperation])
    return Decimal((0, (1,), -scale)), exactly
