"""Exact totals of numbers, built up batch by batch.

A total is a plain list: whether all its numbers were integers, the sum of the integers, and the sum
of all others as floats without a common bit (an expansion), so that nothing is ever rounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

Total = list[Any]


def add(total: Total | None, values: Sequence[Any]) -> Total:
    """Return a total with more numbers; None is that of no numbers."""
    only_integers, integers, parts = total or (True, 0, [])
    kinds = {*map(type, values)}
    if kinds <= {int}:
        return [only_integers, integers + sum(values), parts]
    if kinds == {float}:
        return [False, integers, _expansion(parts, values)]
    rest = [value for value in values if type(value) is not int]
    whole = sum(value for value in values if type(value) is int)
    return [False, integers + whole, _expansion(parts, map(float, rest))]


def _expansion(parts: Sequence[float], values: Iterable[float]) -> list[float]:
    """Return few floats with the exact sum of others: each is the rounded sum of what is left."""
    rest, found = [*parts, *values], list[float]()
    while part := math.fsum(rest):
        found.append(part)
        if not math.isfinite(part):
            break
        rest.append(-part)
    return found


def rounded(total: Total) -> int | float:
    """Return a total: an integer if all its numbers were, otherwise the nearest float."""
    only_integers, integers, parts = total
    if only_integers:
        return int(integers)
    if not integers:
        return math.fsum(parts)
    return float(integers + sum(map(Fraction, parts)))


def mean(total: Total, count: int) -> int | float:
    """Return the mean: of integers truncated toward zero, otherwise the nearest float."""
    only_integers: bool = total[0]
    integers: int = total[1]
    parts: list[float] = total[2]
    if only_integers:
        size = abs(integers) // count
        return size if integers > 0 else -size
    return float((integers + sum(map(Fraction, parts))) / count)
