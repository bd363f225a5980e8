"""Exact totals of numbers, built up batch by batch.

A total is a plain list: whether all its numbers were integers; the sum of the integers; the sum of
the floats, as floats without a common bit (an expansion), so that nothing is ever rounded; and the
sum of infinities and NaN, or None.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

Total = list[Any]


def add(total: Total | None, values: Sequence[Any]) -> Total:
    """Return a total with more numbers; None is that of no numbers."""
    only_integers, integers, parts, special = total or (True, 0, [], None)
    if {*map(type, values)} <= {int}:
        return [only_integers, integers + sum(values), parts, special]
    integers += sum(value for value in values if type(value) is int)
    floats = [float(value) for value in values if type(value) is not int]
    if not all(map(math.isfinite, floats)):
        special = sum((value for value in floats if not math.isfinite(value)), special or 0.0)
        floats = [value for value in floats if math.isfinite(value)]
    return [False, integers, _expansion([*parts, *floats]), special]


def _expansion(values: list[float]) -> list[float]:
    """Return few floats with the exact sum of others: each is the rounded sum of what is left."""
    found = list[float]()
    while part := math.fsum(values):
        found.append(part)
        values.append(-part)
    return found


def rounded(total: Total) -> int | float:
    """Return a total: an integer if all its numbers were, otherwise the nearest float."""
    return mean(total, 1)


def mean(total: Total, count: int) -> int | float:
    """Return the mean: of integers truncated toward zero, otherwise the nearest float."""
    integers: int = total[1]
    only_integers, _, parts, special = total
    if only_integers:
        size = abs(integers) // count
        return size if integers > 0 else -size
    if special is not None:
        return float(special)
    return float((integers + sum(map(Fraction, parts), Fraction())) / count)
