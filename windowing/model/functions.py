"""The functions that aggregate values: what each takes, gives and keeps."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, get_args

from windowing.model.types import Kind

Function = Literal[
    "count",
    "sum",
    "mean",
    "var",
    "stddev",
    "var_pop",
    "stddev_pop",
    "min",
    "max",
    "first",
    "last",
    "argmin",
    "argmax",
    "count_distinct",
    "approx_count_distinct",
    "median",
    "quantile",
    "approx_quantile",
    "top_k",
    "collect",
    "any",
    "all",
    "python",
]
Parameter = Literal["share", "accuracy", "k", "size"]

Takes = Literal["number", "ordered", "bool", "any"]

TAKES: dict[Takes, tuple[tuple[Kind, ...], str]] = {
    "number": (("int", "float", "decimal"), "a number"),
    "ordered": (
        ("int", "float", "decimal", "string", "timestamp", "date"),
        "what has an order",
    ),
    "bool": (("bool",), "a bool"),
    "any": (get_args(Kind), "any field"),
}
"""The kinds of fields that arguments may have, and these in words."""

NARROW_MAX: Final = 18
"""The most digits of decimals that are 64-bit integers in units of their last place."""

SPREAD: Final = ("var", "stddev", "var_pop", "stddev_pop")
"""The functions computed from sums of squares."""

TRUTHS: Final = ("any", "all")
"""The functions of bools, which do not skip nulls."""

MEAN_PLACES: Final = 6
"""How many more digits after the point a mean of decimals has."""


@dataclass(frozen=True)
class Signature:
    """Arguments and result of a function in the table below.

    Attributes:
        takes: per field, the kinds that it may have.
        optional: how many trailing fields may be omitted.
        parameters: those after the fields, each with its default, or None if it is required.
        gives: the type of the result; `same`: that of the last field; `mean`: a float, or of
            decimals a decimal.
        many: the result is a list.
        keeps: the content of a partial state, in words.
        numbers: its size in 64-bit numbers, over ints and over floats, per unit of `k` or `size` if
            there is one; None: it grows with the records.
    """

    takes: tuple[Takes, ...]
    gives: Literal["same", "int", "float", "bool", "mean"]
    keeps: str
    numbers: tuple[int, int] | None
    optional: int = 0
    parameters: tuple[tuple[Parameter, Fraction | int | None], ...] = ()
    many: bool = False


_SUM = "how many values, and their exact sum"
_SQUARES = "how many values, and the exact sums of them and of their squares"
_ONE = "one record's value and place"
_TRUTHS = "how many values are true, false and null"
_VALUES = "every distinct value, with its number"

SIGNATURES: dict[Function, Signature] = {
    "count": Signature(("any",), "int", "the number of records", (1, 1), optional=1),
    "sum": Signature(("number",), "same", _SUM, (3, 4)),
    "mean": Signature(("number",), "mean", _SUM, (3, 4)),
    "var": Signature(("number",), "float", _SQUARES, (7, 9)),
    "stddev": Signature(("number",), "float", _SQUARES, (7, 9)),
    "var_pop": Signature(("number",), "float", _SQUARES, (7, 9)),
    "stddev_pop": Signature(("number",), "float", _SQUARES, (7, 9)),
    "min": Signature(("ordered",), "same", "one value", (1, 1)),
    "max": Signature(("ordered",), "same", "one value", (1, 1)),
    "first": Signature(("any",), "same", _ONE, (4, 4)),
    "last": Signature(("any",), "same", _ONE, (4, 4)),
    "argmin": Signature(("any", "any"), "same", _ONE, (5, 5), optional=1),
    "argmax": Signature(("any", "any"), "same", _ONE, (5, 5), optional=1),
    "count_distinct": Signature(("any",), "int", _VALUES, None),
    "approx_count_distinct": Signature(
        ("any",), "int", "the smallest hashes", (1, 1), parameters=(("size", 1024),)
    ),
    "median": Signature(("number",), "float", _VALUES, None),
    "quantile": Signature(("number",), "same", _VALUES, None, parameters=(("share", None),)),
    "approx_quantile": Signature(
        ("number",),
        "float",
        "how many values are in each bin in use",
        None,
        parameters=(("share", None), ("accuracy", Fraction(1, 100))),
    ),
    "top_k": Signature(
        ("number",),
        "same",
        "the k largest values, each with its number",
        (2, 2),
        parameters=(("k", None),),
        many=True,
    ),
    "collect": Signature(("any",), "same", "every value, with its place", None, many=True),
    "any": Signature(("bool",), "bool", _TRUTHS, (3, 3)),
    "all": Signature(("bool",), "bool", _TRUTHS, (3, 3)),
}
"""Every function except `python`, whose class declares its result."""
