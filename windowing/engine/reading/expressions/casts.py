"""`cast(x AS type)` by columns. What is not spelled as usual in its column is read one by one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windowing.engine.reading.expressions import instants
from windowing.engine.reading.expressions.arithmetic import finite
from windowing.engine.reading.expressions.conversions import (
    DATE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    converted,
    decimal,
)
from windowing.engine.reading.expressions.decimals import half_away, of_doubles, shifted
from windowing.engine.reading.expressions.program import BOOL, Node, Program
from windowing.engine.reading.expressions.texts import matches
from windowing.engine.reading.expressions.vectors import (
    TEXT,
    Bools,
    Computed,
    any_of,
    bools,
    ints,
    strict,
    total,
)
from windowing.engine.reading.expressions.whole import LIMIT, Ints, Whole, filled
from windowing.engine.reading.times import iso_us
from windowing.model.lengths import INT64_MAX
from windowing.model.types import PRECISION_MAX, FieldType

_INTEGER: Final = r"-?(0|[1-9][0-9]*)"
_NUMBER: Final = _INTEGER + r"(\.[0-9]+)?([eE][+-]?[0-9]+)?"
_DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_INSTANT: Final = _DATE + r"[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?[Zz]?"
"""How instants are mostly spelled; there are other ways."""
_PARTS: Final = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?)([0-9]+))?")
_SHORT: Final = 18
"""So many digits are an int64."""


def cast(program: Program, node: Node, to: FieldType) -> Node:
    """Return the place of a node's values as those of another type."""
    kind = node.type
    if kind is None:
        return converted(program, node, decimal(to.scale) if to.kind == "decimal" else to)
    if to.kind == "decimal":
        return _to_decimal(program, node, kind, to)
    if kind.kind == to.kind:
        return node
    if to.kind == "float" and kind.kind != "string":
        return converted(program, node, FLOAT)
    if to.kind == "int":
        return to_int(program, node, kind)
    target = _TARGETS[to.kind]
    if kind.kind == "decimal":
        kernel = total(lambda whole: _spelled_decimals(whole, kind.scale))
        return program.apply(("spelled", kind.scale), kernel, [node], STRING)
    operation = _CASTS[kind.kind, to.kind]
    return program.apply(("cast", to.kind), strict(operation), [node], target)


def to_int(program: Program, node: Node, kind: FieldType) -> Node:
    """Return the place of a node's values as ints."""
    if kind.kind in {"float", "decimal"}:
        whole = _to_scale(program, node, kind, 0)
        return program.apply("narrow", strict(_narrow), [whole], INT)
    return program.apply(("cast", "int"), strict(_CASTS[kind.kind, "int"]), [node], INT)


def _to_decimal(program: Program, node: Node, kind: FieldType, to: FieldType) -> Node:
    scaled = _to_scale(program, node, kind, to.scale)
    if to.precision == PRECISION_MAX:
        return scaled
    limit = 10**to.precision
    kernel = strict(lambda whole: _limited(whole, limit))
    return program.apply(("digits", to.precision), kernel, [scaled], scaled.type)


def _to_scale(program: Program, node: Node, kind: FieldType, scale: int) -> Node:
    to = decimal(scale)
    if kind == INT:
        return converted(program, node, to)
    if kind == FLOAT:
        return program.apply(("exactly", scale), strict(of_doubles(scale)), [node], to)
    if kind == STRING:
        kernel = strict(lambda text: _read_decimals(text, scale))
        return program.apply(("read", scale), kernel, [node], to)
    power = scale - kind.scale
    if power == 0:
        return node
    kernel = strict(shifted(power, rounding=half_away))
    return program.apply(("shift", power, half_away.__name__), kernel, [node], to)


def _narrow(whole: Whole) -> Computed:
    wrong = None
    if len(whole.rows):
        wrong = np.zeros(len(whole.low), bool)
        wrong[whole.rows] = True
    return whole.low, wrong


def _limited(whole: Whole, limit: int) -> Computed:
    wrong = np.zeros(len(whole.low), bool)
    wrong[whole.rows] = [abs(number) >= limit for number in whole.wide]
    if limit <= INT64_MAX:
        # The size of the smallest int would be negative.
        wrong |= (whole.low >= limit) | (whole.low <= -limit)
    return whole, wrong


# To text.


def _digits(numbers: Ints) -> Any:
    return pc.cast(pa.array(numbers), TEXT)


def _spelled_bools(truth: Bools) -> Any:
    return pc.if_else(pa.array(truth), pa.scalar("true", TEXT), pa.scalar("false", TEXT))


def _spelled_decimals(whole: Whole, scale: int) -> Any:
    """Return decimals as rows have them: all digits after the point, and at least one before."""
    sign = pc.if_else(pa.array(whole.low < 0), pa.scalar("-", TEXT), pa.scalar("", TEXT))
    # The size of the smallest int is right as one without a sign.
    size = pc.cast(pa.array(np.abs(whole.low).view(np.uint64)), TEXT)
    if len(whole.rows):
        wide = np.zeros(len(whole.low), bool)
        wide[whole.rows] = True
        mask = pa.array(wide)
        size = pc.replace_with_mask(size, mask, pa.array(_texts(map(abs, whole.wide)), TEXT))
        signs = ["-" if number < 0 else "" for number in whole.wide]
        sign = pc.replace_with_mask(sign, mask, pa.array(signs, TEXT))
    if scale == 0:
        return pc.binary_join_element_wise(sign, size, pa.scalar("", TEXT))
    size = pc.utf8_lpad(size, scale + 1, "0")
    before = pc.binary_join_element_wise(
        sign, pc.utf8_slice_codeunits(size, 0, -scale), pa.scalar("", TEXT)
    )
    after = pc.utf8_slice_codeunits(size, -scale, None)
    return pc.binary_join_element_wise(before, after, pa.scalar(".", TEXT))


def _texts(numbers: Any) -> list[str]:
    return [str(number) for number in numbers]


def _spelled_instants(instant: Ints) -> Computed:
    wrong = instants.out_of_years(instant)
    times = pa.array(np.where(wrong, 0, instant)).cast(pa.timestamp("us"))
    text = pc.binary_replace_slice(pc.cast(times, TEXT), 10, 11, "T")
    return pc.binary_join_element_wise(text, pa.scalar("Z", TEXT), pa.scalar("", TEXT)), wrong


def _day(instant: Ints) -> Computed:
    wrong = instants.out_of_years(instant)
    days = np.where(wrong, 0, instant) // instants.DAY_US
    return pc.cast(pa.array(days.astype(np.int32)).cast(pa.date32()), TEXT), wrong


# Of text.


def _array(text: Any) -> Any:
    """Return a constant text as an array of one."""
    return pa.array([text.as_py()], TEXT) if isinstance(text, pa.Scalar) else text


def _put(fits: Bools, text: Any, instead: str) -> Any:
    """Return texts, another instead of those that do not fit."""
    return text if fits.all() else pc.if_else(pa.array(fits), text, pa.scalar(instead, TEXT))


def _read_ints(text: Any) -> Computed:
    whole, wrong = _read_decimals(text, 0)
    numbers, wide = _narrow(whole)
    return numbers, any_of(wrong, wide, ~matches(text, _INTEGER))


def _read_floats(text: Any) -> Computed:
    text = _array(text)
    legal = matches(text, _NUMBER)
    numbers, infinite = finite(pc.cast(_put(legal, text, "0"), pa.float64()).to_numpy())
    return numbers, any_of(infinite, ~legal)


def _read_decimals(text: Any, scale: int) -> Computed:
    text = _array(text)
    legal = matches(text, _NUMBER)
    size, point = ints(pc.utf8_length(text)), ints(pc.find_substring(text, "."))
    missing = scale - np.where(point < 0, 0, size - point - 1)
    short = (missing >= 0) & (size + missing <= _SHORT)
    usual = legal & short & ~bools(pc.match_substring_regex(text, "[eE]"))
    digits = pc.replace_substring(_put(usual, text, "0"), ".", "")
    low = pc.cast(digits, pa.int64()).to_numpy() * 10 ** np.where(usual, missing, 0)
    rows = np.flatnonzero(legal & ~usual)
    if not len(rows):
        return Whole.narrow(low), ~legal
    exact = np.array([_exactly(text[row].as_py(), scale) for row in rows], object)
    whole, beyond = filled(low, rows, exact)
    return whole, any_of(beyond, ~legal)


def _exactly(text: str, scale: int) -> int:
    """Return a JSON number times a power of ten, half away from zero; far out, another one."""
    [(sign, before, after, exponent_sign, exponent)] = _PARTS.findall(text)
    digits, size = (before + after).lstrip("0"), exponent.lstrip("0")
    if not digits:
        return 0
    if len(size) > _SHORT:
        return 0 if exponent_sign == "-" else LIMIT
    power = int(exponent_sign + (size or "0")) - len(after)
    # How many digits there are before the point, and how many of all count for the result.
    whole = len(digits) + power
    kept = whole + scale + 1
    if whole > PRECISION_MAX:
        return LIMIT
    number = (int(digits[:kept].ljust(kept, "0")) + 5) // 10 if kept > 0 else 0
    return -number if sign else number


def _read_bools(text: Any) -> Computed:
    true = bools(pc.equal(text, pa.scalar("true", TEXT)))
    return true, ~(true | bools(pc.equal(text, pa.scalar("false", TEXT))))


def _piece(text: Any, begin: int, end: int) -> Ints:
    piece: Ints = pc.cast(pc.utf8_slice_codeunits(text, begin, end), pa.int64()).to_numpy()
    return piece


def _days(text: Any) -> tuple[Ints, Bools]:
    """Return the days that texts `YYYY-MM-DD…` begin with, and which of them exist."""
    year, month, day = _piece(text, 0, 4), _piece(text, 5, 7), _piece(text, 8, 10)
    months = (year - 1970) * 12 + month - 1
    days = instants.first_day(months) + day - 1
    exists = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    return days, exists & (instants.month_of(days) == months)


def _read_dates(text: Any) -> Computed:
    legal = matches(text, _DATE)
    _, exists = _days(_array(_put(legal, text, "1970-01-01")))
    return text, ~(legal & exists)


def _midnight(date: Any) -> Ints:
    # What is null or failed may be any text.
    fits = matches(date, _DATE)
    return _days(_array(_put(fits, date, "1970-01-01")))[0] * instants.DAY_US


def _read_instants(text: Any) -> Computed:
    text = _array(text)
    usual = matches(text, _INSTANT)
    plain = _put(usual, text, "1970-01-01T00:00:00")
    days, exists = _days(plain)
    hour, minute, second = (_piece(plain, at, at + 2) for at in (11, 14, 17))
    fraction = pc.ascii_rtrim(pc.utf8_slice_codeunits(plain, 20, 26), characters="Zz")
    us = pc.cast(pc.utf8_rpad(fraction, 6, "0"), pa.int64()).to_numpy()
    right = usual & exists & (hour < 24) & (minute < 60) & (second < 60)
    seconds = (hour * 60 + minute) * 60 + second
    instant = days * instants.DAY_US + seconds * instants.SECOND_US + us
    wrong = usual & ~right
    for row in np.flatnonzero(~usual):
        found = iso_us(text[row].as_py())
        wrong[row] = found is None
        instant[row] = found or 0
    return instant, wrong


_TARGETS: Final = {kind.kind: kind for kind in (BOOL, DATE, FLOAT, INT, STRING, TIMESTAMP)}


def _same(values: Any) -> Computed:
    return values, None


def _sure(operation: Callable[[Any], Any]) -> Callable[[Any], Computed]:
    return lambda values: (operation(values), None)


_CASTS: Final[dict[tuple[str, str], Callable[[Any], Computed]]] = {
    ("int", "string"): _sure(_digits),
    ("int", "timestamp"): _same,
    ("string", "int"): _read_ints,
    ("string", "float"): _read_floats,
    ("string", "bool"): _read_bools,
    ("string", "timestamp"): _read_instants,
    ("string", "date"): _read_dates,
    ("bool", "int"): _sure(lambda truth: truth.astype(np.int64)),
    ("bool", "string"): _sure(_spelled_bools),
    ("timestamp", "int"): _same,
    ("timestamp", "date"): _day,
    ("timestamp", "string"): _spelled_instants,
    ("date", "timestamp"): _sure(_midnight),
    ("date", "string"): _same,
}
