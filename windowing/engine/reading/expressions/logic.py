"""Three-valued logic, and what decides between values.

AND, OR, CASE and coalesce compute all their arguments for all rows and then take, row by row, what
evaluation from left to right takes: the failure of an argument that is not reached is dropped. One
that is reached stays, whatever follows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from windowing.engine.reading.expressions.vectors import (
    Bools,
    Mask,
    Vector,
    any_of,
    choose,
    outside,
)

_ALL = np.array([True])
_NONE = np.array([False])


def conjunction(*arguments: Vector) -> Vector:
    """AND: false as soon as an argument is."""
    return _decided(arguments, by=False)


def disjunction(*arguments: Vector) -> Vector:
    """OR: true as soon as an argument is."""
    return _decided(arguments, by=True)


def _decided(arguments: tuple[Vector, ...], *, by: bool) -> Vector:
    open_ = _ALL
    null: Mask = None
    failed: Mask = None
    for argument in arguments:
        decides = _but(argument.values if by else ~argument.values, argument.null)
        failed = any_of(failed, _inside(open_, argument.failed))
        null = any_of(null, argument.null)
        open_ = open_ & ~decides
    # What is open at the end has the other value, if nothing was null.
    values = open_ if not by else ~open_
    return Vector(values, _inside(open_, null), failed)


def negation(argument: Vector) -> Vector:
    """NOT."""
    return Vector(~argument.values, argument.null, argument.failed)


def is_null(argument: Vector) -> Vector:
    """IS NULL."""
    null = _NONE if argument.null is None else argument.null
    return Vector(null, None, argument.failed)


def case(*arguments: Vector) -> Vector:
    """CASE: conditions and values in turn, and the value where no condition holds."""
    *branches, otherwise = arguments
    open_, taken = _ALL, list[tuple[Bools, Vector]]()
    failed: Mask = None
    for condition, value in zip(branches[::2], branches[1::2], strict=True):
        failed = any_of(failed, _inside(open_, condition.failed))
        holds = open_ & _but(condition.values, condition.null)
        taken.append((holds, value))
        open_ = open_ & ~holds
    return _chosen(taken, open_, otherwise, failed)


def coalesce(*arguments: Vector) -> Vector:
    """Return the first value that is not null."""
    *first, last = arguments
    open_, taken = _ALL, list[tuple[Bools, Vector]]()
    for argument in first:
        null = _NONE if argument.null is None else argument.null
        passed = open_ & _but(null, argument.failed)  # what failed may be marked as null, too
        taken.append((open_ & ~passed, argument))
        open_ = passed
    return _chosen(taken, open_, last, None)


def _chosen(
    taken: list[tuple[Bools, Vector]], rest: Bools, otherwise: Vector, failed: Mask
) -> Vector:
    """Return each row's value: masks exclude each other."""
    values, null = otherwise.values, _inside(rest, otherwise.null)
    failed = any_of(failed, _inside(rest, otherwise.failed))
    for mask, vector in reversed(taken):
        values = choose(mask, vector.values, values)
        null = any_of(null, _inside(mask, vector.null))
        failed = any_of(failed, _inside(mask, vector.failed))
    return Vector(values, null, failed)


def nullif(value: Vector, equal: Vector) -> Vector:
    """Return a value, null where it is equal to another.

    Args:
        equal: whether it is; null where one of them is null.
    """
    same = outside(equal.values, equal.null)
    return Vector(value.values, any_of(value.null, same), any_of(value.failed, equal.failed))


def extreme(precedes: Callable[[Vector, Vector], Vector]) -> Callable[..., Vector]:
    """Return a function of the value that precedes all others; nulls are skipped.

    Args:
        precedes: whether one value does another.
    """

    def kernel(first: Vector, *others: Vector) -> Vector:
        found = first
        for other in others:
            takes = precedes(other, found).values
            if found.null is not None:
                takes = takes | found.null
            takes = _but(takes, other.null)
            null = None
            if found.null is not None and other.null is not None:
                null = found.null & other.null
            values = choose(takes, other.values, found.values)
            found = Vector(values, null, any_of(found.failed, other.failed))
        return found

    return kernel


def all_evaluated(kernel: Callable[..., Vector]) -> Callable[..., Vector]:
    """Return AND or OR as BETWEEN and IN have them: a failure of any argument is one."""

    def evaluated(*arguments: Vector) -> Vector:
        answer = kernel(*(Vector(argument.values, argument.null) for argument in arguments))
        failed = any_of(*(argument.failed for argument in arguments))
        return Vector(answer.values, answer.null, failed)

    return evaluated


def _but(mask: Bools, excluded: Mask) -> Bools:
    return mask if excluded is None else mask & ~excluded


def _inside(mask: Bools, rows: Mask) -> Mask:
    return None if rows is None else mask & rows
