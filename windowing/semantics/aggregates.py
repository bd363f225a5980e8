"""Aggregates over the records of a window: exact rationals, rounded once, at the end.

The error of approximate ones is part of their definition.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from hashlib import blake2b
from math import ceil, inf

from windowing.model.fields import Aggregate
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.rows import Scalar, Value
from windowing.model.types import FieldType
from windowing.model.user import user_aggregate


def middle_of_bin(value: Number, accuracy: Fraction) -> float:
    """Return the middle of the bin that contains a value.

    Each [2^e, 2^(e+1)) is divided into 2^m bins of equal width, with the smallest m that keeps
    every value v within accuracy * v of the middle of its bin. Negative values mirror positive
    ones.
    """
    exact = abs(Fraction(float(value)))
    if exact == 0:
        return 0.0
    octave = Fraction(1)
    while octave * 2 <= exact:
        octave *= 2
    while octave > exact:
        octave /= 2
    bins = 1
    while octave / bins / 2 > accuracy * octave:
        bins *= 2
    width = octave / bins
    middle = float((exact // width + Fraction(1, 2)) * width)
    return -middle if value < 0 else middle


def distinct_estimate(values: Iterable[Known], size: int) -> int:
    """Estimate the number of distinct values from the smallest hashes.

    With fewer than `size` distinct hashes, their number; else `(size - 1) * 2^64` over the
    `size`-th smallest hash, rounded down.
    """
    hashes = sorted({_hash(value) for value in values})
    if len(hashes) < size:
        return len(hashes)
    return (size - 1) * 2**64 // max(hashes[size - 1], 1)


Number = int | float | Decimal
Known = Number | str
"""A value that is not null; bools are ints."""


def _hash(value: Known) -> int:
    """Return the first 8 bytes of BLAKE2b over 8 bytes of int or double, big-endian, or UTF-8.

    A decimal is hashed as its text in a row, a bool as 1 or 0.
    """
    match value:
        case str():
            data = value.encode()
        case Decimal():
            data = f"{value:f}".encode()
        case int():
            data = value.to_bytes(8, "big", signed=True)
        case float():
            data = struct.pack(">d", value)
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")


_SUBNORMAL_BITS = 1074
"""Every finite double is a whole multiple of 2^-1074."""

# A variance of doubles whose root is a double, or halfway between two, has fewer than 2,300 digits;
# with more precision than that, the root is rounded correctly.
_DIGITS = Context(prec=2500, Emax=999_999, Emin=-999_999)


class NoValueError(ArithmeticError):
    """No row can show the value: it shows null, and names the aggregate.

    A sum of ints that leaves int64, one of decimals that leaves 38 digits, or a user's class that
    fails.
    """


def aggregate(spec: Aggregate, type_: FieldType, values: Sequence[Scalar]) -> Value:
    """Compute one aggregate over one field; nulls are skipped; without values it is null.

    Args:
        spec: any aggregate except `argmin`, `argmax`, `python`, and a `count` of records.
        type_: of its field.
        values: the field of all the window's records in canonical order, including nulls.

    Raises:
        NoValueError: a sum with too many digits.
    """
    known = [value for value in values if value is not None]
    if spec.function == "count":
        return len(known)
    if not known:
        return None
    match spec.function:
        case "any" | "all" as function:
            decides = function == "any"
            if decides in known:
                return decides
            return None if None in values else not decides
        case "min" | "max" as function:
            return (min if function == "min" else max)(known)
        case "first":
            return known[0]
        case "last":
            return known[-1]
        case "collect":
            return known
        case "count_distinct":
            return len(set(known))
        case "approx_count_distinct":
            return distinct_estimate(known, int(spec.parameters[0]))
    numbers = [value for value in known if not isinstance(value, str)]
    if type_.kind == "decimal" and spec.function in ("sum", "mean"):
        return _of_decimals(spec, type_, numbers)
    return _of_numbers(spec, type_, numbers)


def _of_decimals(spec: Aggregate, type_: FieldType, numbers: Sequence[Number]) -> Decimal:
    exact, scale = sum(map(Fraction, numbers), Fraction()), type_.scale
    if spec.function == "mean":
        exact, scale = exact / len(numbers), scale + 6
    # Python rounds a fraction half to even.
    unscaled = round(exact * 10**scale)
    if abs(unscaled) >= 10**38:
        msg = f"{spec.name}: {spec.function}({spec.field}) has more than 38 digits"
        raise NoValueError(msg)
    return Decimal(f"{unscaled}E-{scale}")


def _of_numbers(spec: Aggregate, type_: FieldType, numbers: list[Number]) -> Value:
    match spec.function:
        case "top_k":
            return sorted(numbers, reverse=True)[: int(spec.parameters[0])]
        case "quantile":
            return quantile(numbers, Fraction(spec.parameters[0]))
        case "approx_quantile":
            share, accuracy = map(Fraction, spec.parameters)
            return middle_of_bin(quantile(numbers, share), accuracy)
        case "median":
            ordered, half = sorted(numbers), len(numbers) // 2
            return rounded((Fraction(ordered[half]) + Fraction(ordered[-1 - half])) / 2)
        case "var" | "stddev" | "var_pop" | "stddev_pop":
            return spread(spec.function, numbers)
        case "mean":
            return rounded(exact_sum(numbers) / len(numbers))
    total = exact_sum(numbers)
    if type_.kind == "float":
        return rounded(total)
    if not INT64_MIN <= total <= INT64_MAX:
        msg = f"{spec.name}: sum({spec.field}) is {total}, which does not fit 64 bits"
        raise NoValueError(msg)
    return int(total)


def extreme(spec: Aggregate, pairs: Sequence[tuple[Scalar, Scalar]]) -> Scalar:
    """Compute `argmin` or `argmax`: what the (first) record with the extreme value shows.

    Args:
        spec: either of the two.
        pairs: per record in canonical order, its value and what it would show; records without
            either are skipped.
    """
    known = [(value, shown) for value, shown in pairs if shown is not None and value is not None]
    if not known:
        return None
    values = [value for value, _ in known]
    extreme = min(values) if spec.function == "argmin" else max(values)
    return known[values.index(extreme)][1]


def by_user(spec: Aggregate, rows: Mapping[tuple[str, int, int], Sequence[Scalar]]) -> Scalar:
    """Compute a user's aggregate, record by record in canonical order, without `merge`.

    Args:
        rows: by the place of each record, the values of the fields; records with a null
            are skipped.

    Raises:
        NoValueError: the class raised, or returned something invalid.
    """
    assert spec.user is not None  # noqa: S101 - only called for such aggregates
    known = {place: row for place, row in rows.items() if None not in row}
    if not known:
        return None
    at = ""
    try:
        state = user_aggregate.call(spec.user, "init")
        for (_, partition, offset), row in known.items():
            at = f", at partition {partition}, offset {offset}"
            state = user_aggregate.call(spec.user, "update", state, *row)
        at = ""
        user_aggregate.check_plain(spec.user, state)
        shown = user_aggregate.call(spec.user, "result", state)
        return user_aggregate.checked_result(spec.user, shown)
    except user_aggregate.UserAggregateError as error:
        msg = f"{spec.name}: {error}{at}"
        raise NoValueError(msg) from error


def refused_by(aggregates: Iterable[Aggregate], fields: Mapping[str, Scalar]) -> str | None:
    """Return the first aggregate whose class refuses a record; None: all take it."""
    found = refusal(aggregates, fields)
    return None if found is None else found[0]


def refusal(
    aggregates: Iterable[Aggregate], fields: Mapping[str, Scalar]
) -> tuple[str, str] | None:
    """Return the first aggregate whose class refuses a record, and its words.

    A class is not asked about a record with a null, which it would not get.
    """
    for one in aggregates:
        if one.user is None:
            continue
        values = [fields[name] for name in one.fields]
        known = [value for value in values if value is not None]
        if len(known) == len(values) and (said := user_aggregate.refusal(one.user, known)):
            return one.name, said
    return None


def quantile(numbers: Sequence[Number], share: Fraction) -> Number:
    """Return the smallest value that at least this share of all values do not exceed."""
    return sorted(numbers)[max(ceil(share * len(numbers)), 1) - 1]


def spread(function: str, numbers: Sequence[Number]) -> float | None:
    """Return variance or standard deviation, sample or population; null of too few values."""
    degrees = len(numbers) if function.endswith("_pop") else len(numbers) - 1
    if degrees == 0:
        return None
    exact = [Fraction(number) for number in numbers]
    mean = sum(exact, Fraction()) / len(exact)
    variance = sum(((number - mean) ** 2 for number in exact), Fraction()) / degrees
    if function.startswith("var"):
        return rounded(variance)
    quotient = _DIGITS.divide(Decimal(variance.numerator), Decimal(variance.denominator))
    return float(_DIGITS.sqrt(quotient))


def exact_sum(numbers: Sequence[Number]) -> Fraction:
    """Add without rounding: ints directly, doubles as multiples of the smallest double."""
    whole, scaled = 0, 0
    for number in numbers:
        if isinstance(number, int):
            whole += number
        else:
            numerator, denominator = number.as_integer_ratio()
            scaled += numerator * (2**_SUBNORMAL_BITS // denominator)
    return whole + Fraction(scaled, 2**_SUBNORMAL_BITS)


def rounded(exact: Fraction) -> float:
    """Return the nearest double, ties to even; overflow gives infinity, and zero has no sign."""
    try:
        return exact.numerator / exact.denominator + 0.0
    except OverflowError:
        return inf if exact > 0 else -inf
