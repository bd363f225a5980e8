"""Values of expressions over the rows of one table: where they are null, and where they failed.

Numbers, bools and instants are arrays of numpy, texts and dates are arrays of Arrow: one operation
on some rows costs a microsecond or a few, where a query of polars costs a hundred. What a vector
holds where it is null or failed has no meaning; operations compute it, too, and must not raise.

| kind | values |
|---|---|
| int, timestamp | int64 |
| float | float64 |
| bool | bool |
| decimal | `Whole`: the value times ten to its scale |
| string, date | large_string of Arrow |

A constant is a vector of one row (a scalar of Arrow); numpy stretches it over the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context
from functools import reduce
from operator import or_
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windowing.engine.reading.expressions.whole import Whole
from windowing.model.types import PRECISION_MAX, FieldType

Bools: TypeAlias = NDArray[np.bool_]
Mask: TypeAlias = Bools | None
"""Some of the rows; None: none of them."""
Computed: TypeAlias = tuple[Any, Mask]
"""Values, and where they could not be computed."""

TEXT: Final = pa.large_string()
_EXACT: Final = Context(prec=2 * PRECISION_MAX)
_NUMPY: Final = {"int": np.int64, "timestamp": np.int64, "float": np.float64, "bool": np.bool_}


@dataclass(frozen=True, slots=True)
class Vector:
    """Values of one type.

    Attributes:
        failed: where there is no value because computing it failed; `null` does not matter there.
    """

    values: Any
    null: Mask = None
    failed: Mask = None


def any_of(*masks: Mask) -> Mask:
    """Return the rows that are in some mask."""
    some = [mask for mask in masks if mask is not None]
    return reduce(or_, some) if some else None


def outside(mask: Mask, excluded: Mask) -> Mask:
    """Return the rows of a mask that are not excluded."""
    return mask if mask is None or excluded is None else mask & ~excluded


def strict(operation: Callable[..., Computed]) -> Callable[..., Vector]:
    """Return an operation on vectors that is null where an argument is."""

    def kernel(*arguments: Vector) -> Vector:
        values, wrong = operation(*(argument.values for argument in arguments))
        null = any_of(*(argument.null for argument in arguments))
        failed = any_of(*(argument.failed for argument in arguments), outside(wrong, null))
        if isinstance(values, pa.Array) and len(values) == 1:
            values = values[0]
        return Vector(values, null, failed)

    return kernel


def total(operation: Callable[..., Any]) -> Callable[..., Vector]:
    """Return an operation on vectors that cannot fail and is null where an argument is."""
    return strict(lambda *values: (operation(*values), None))


def choose(mask: Bools, chosen: Any, otherwise: Any) -> Any:
    """Return values of the first where the mask is, and of the second elsewhere."""
    if isinstance(chosen, Whole):
        return Whole.choose(mask, chosen, otherwise)
    if isinstance(chosen, np.ndarray):
        return np.where(mask, chosen, otherwise)
    if len(mask) == 1:
        # The mask is a constant, which Arrow stretches only if it is a scalar.
        return chosen if mask[0] else otherwise
    return pc.if_else(pa.array(mask), chosen, otherwise)


def bools(answer: Any) -> Bools:
    """Return Arrow's bools as numpy's; null is false."""
    if isinstance(answer, pa.Scalar):
        return np.array([answer.as_py() is True])
    if answer.null_count:
        answer = answer.fill_null(False)
    return np.asarray(answer.to_numpy(zero_copy_only=False))


def ints(numbers: Any) -> NDArray[np.int64]:
    """Return Arrow's whole numbers as numpy's; none of them is null."""
    if isinstance(numbers, pa.Scalar):
        return np.array([numbers.as_py()], np.int64)
    return np.asarray(numbers.to_numpy()).astype(np.int64, copy=False)


def constant(value: Any, kind: FieldType) -> Vector:
    """Return a value as a vector of one row."""
    null = np.array([True]) if value is None else None
    if kind.kind in {"string", "date"}:
        return Vector(pa.scalar(value or "", TEXT), null)
    if kind.kind == "decimal":
        unscaled = 0 if value is None else int(value.scaleb(kind.scale, _EXACT))
        return Vector(Whole.of([unscaled]), null)
    return Vector(np.array([value or 0], _NUMPY[kind.kind]), null)


def loaded(column: pl.Series, kind: FieldType) -> Vector:
    """Return a column of the engine as a vector."""
    array = column.to_arrow()
    buffers, rows = array.buffers(), slice(array.offset, array.offset + len(array))
    null = _unset(buffers[0], rows) if array.null_count else None
    match kind.kind:
        case "string" | "date":
            if array.type != TEXT:
                array = array.cast(TEXT)
                buffers = array.buffers()
            # Without its nulls, which are in the mask.
            text = pa.Array.from_buffers(
                TEXT, len(array), [None, *buffers[1:]], null_count=0, offset=array.offset
            )
            return Vector(text, null)
        case "bool":
            return Vector(bools(array), null)
        case "decimal":
            words = np.frombuffer(buffers[1], np.int64).reshape(-1, 2)[rows]
            return Vector(Whole.of_words(words), null)
    return Vector(np.frombuffer(buffers[1], _NUMPY[kind.kind])[rows], null)


def stored(vector: Vector, kind: FieldType, rows: int) -> tuple[pl.Series, pl.Series]:
    """Return a vector as a column of the engine, null where it failed, and where it did.

    Args:
        rows: how many there are, for what is constant.
    """
    null = any_of(vector.null, vector.failed)
    nulls = None if null is None else _stretched(null, rows)
    values = vector.values
    match kind.kind:
        case "string" | "date":
            array = pa.repeat(values, rows) if isinstance(values, pa.Scalar) else values
            if nulls is not None:
                array = pc.if_else(pa.array(nulls), pa.scalar(None, TEXT), array)
        case "decimal":
            words = pa.py_buffer(np.ascontiguousarray(values.words(rows)))
            valid = None if nulls is None else pa.array(~nulls).buffers()[1]
            of = pa.decimal128(PRECISION_MAX, kind.scale)
            array = pa.Array.from_buffers(of, rows, [valid, words])
        case _:
            array = pa.array(_stretched(values, rows), mask=nulls)
    failed = np.zeros(rows, bool) if vector.failed is None else _stretched(vector.failed, rows)
    return pl.Series(array), pl.Series(pa.array(failed))


def _unset(bitmap: Any, rows: slice) -> Bools:
    """Return which bits of Arrow's are 0."""
    octets = np.frombuffer(bitmap, np.uint8)
    unset: Bools = np.unpackbits(octets, count=rows.stop, bitorder="little")[rows] == 0
    return unset


def _stretched(values: NDArray[Any], rows: int) -> NDArray[Any]:
    return values if len(values) == rows else np.full(rows, values[0], values.dtype)
