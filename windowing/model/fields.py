"""Types of the fields of a record, and the aggregates that a query computes over them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

from windowing.model.errors import meant, shown
from windowing.model.functions import (
    MEAN_PLACES,
    NARROW_MAX,
    SIGNATURES,
    SPREAD,
    TAKES,
    Function,
    Parameter,
)
from windowing.model.paths import named, split_names
from windowing.model.registry import PluginError, declared_names, declared_reference
from windowing.model.types import PRECISION_MAX, FieldType, Kind
from windowing.model.user import user_aggregate

_CALL = re.compile(
    r"(?:python:(?P<user>[\w.]+:\w+)|(?P<name>[A-Za-z_]\w*))"
    r'(?:\s*\((?P<given>(?:[^()"]|"(?:[^"]|"")*")*)\))?'
)
_DECIMAL = re.compile(r"([+-]?[0-9]{1,9}(?:\.[0-9]{1,7})?)\s*(%?)")


_EXAMPLES: dict[Parameter, str] = {"share": "0.99", "accuracy": "1%", "k": "3", "size": "1024"}


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a query.

    Attributes:
        name: the column that holds the result.
        function: what is computed; all except `count`, `any` and `all` skip nulls, and all except
            `count` are null over no values.
        field: its argument; None for a `count` of records.
        more: further fields: those that `argmin` and `argmax` show, further arguments of a class,
            or the condition of `any(x) where c` and `all(x) where c`.
        parameters: numbers after the fields, defaults filled in, in the order of the signature.
        user: `module:Class` of a user's aggregate, if the function is `python`; a plug-in's name is
            resolved to its class.
        code: a digest of the source that this class needs, part of the fingerprint: other source
            makes another pipeline. None until then, because reading a pipeline imports no code.
    """

    name: str
    function: Function
    field: str | None = None
    more: tuple[str, ...] = ()
    parameters: tuple[Fraction | int, ...] = ()
    user: str | None = None
    code: str | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        """All fields, in order."""
        return () if self.field is None else (self.field, *self.more)


@dataclass(frozen=True)
class ValueType:
    """The type of a result; any result may be null.

    Attributes:
        kind: of the value, or of the elements of a list.
        many: it is a list.
        precision, scale: of a decimal: its digits, and how many of them follow the point.
    """

    kind: Kind
    many: bool = False
    precision: int = 0
    scale: int = 0

    @classmethod
    def of(cls, type_: FieldType, *, many: bool = False) -> ValueType:
        """Return the type of a result that is a value of a field, or a list of them."""
        return cls(type_.kind, many, type_.precision, type_.scale)

    def __str__(self) -> str:
        one = FieldType(self.kind, precision=self.precision, scale=self.scale)
        return f"a list of {one}" if self.many else f"{one}"


def parse_aggregate(name: str, text: object) -> Aggregate:
    """Parse `count`, `mean(dep_delay)`, `quantile(dep_delay, 0.99)` or `python:module:Class(x)`.

    The name of a plug-in stands for its class: `range(x)` for `python:package.module:Range(x)`.

    Raises:
        ValueError: not of that form, an unknown function, or too few or too many arguments.
    """
    match = _CALL.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        msg = (
            f"{shown(text)} is not an aggregate: write count, a function of a field, as "
            "mean(delay), or a class of yours, as python:module:Class(delay)"
        )
        if isinstance(text, str) and "(" in text and ")" not in text:
            msg += "; inside {} a comma ends it: put the whole in quotes, as 'quantile(delay, 0.9)'"
        raise ValueError(msg)
    given = [named(part) for part in split_names(match["given"] or "")]
    if match["user"]:
        return _parse_user(name, str(text), match["user"], given)
    if (plugin := _plugin(match["name"])) is not None:
        return _parse_user(name, str(text), plugin, given)
    if match["name"] not in SIGNATURES:
        known = ", ".join((*SIGNATURES, *declared_names("aggregates")))
        close = meant(match["name"], SIGNATURES)
        msg = f"{match['name']!r} is not an aggregate{close or ':'} use {known}"
        raise ValueError(msg)
    function = cast("Function", match["name"])
    fields, numbers = _split(function, given, str(text))
    field = fields[0] if fields else None
    return Aggregate(name, function, field, tuple(fields[1:]), numbers)


def _plugin(function: str) -> str | None:
    """Return the class that a plug-in declares by this name, without importing it, or None.

    Raises:
        PluginError: a built-in function has this name, too.
    """
    reference = declared_reference("aggregates", function)
    if reference is not None and function in SIGNATURES:
        msg = f"{reference} cannot be the aggregate {function!r}: give it another name"
        raise PluginError(msg)
    return reference


def _parse_user(name: str, text: str, reference: str, given: Sequence[str]) -> Aggregate:
    if not given or not all(given):
        msg = f"{text!r}: a class needs the fields of its update, as python:{reference}(delay)"
        raise ValueError(msg)
    return Aggregate(name, "python", given[0], tuple(given[1:]), user=reference)


def with_code(aggregate: Aggregate) -> Aggregate:
    """Return the aggregate with the digest of its class's source; imports the class.

    Raises:
        UserAggregateError: the class cannot be used.
    """
    if aggregate.user is None:
        return aggregate
    return replace(aggregate, code=user_aggregate.source_digest(aggregate.user))


def _split(
    function: Function, given: Sequence[str], text: str
) -> tuple[list[str], tuple[Fraction | int, ...]]:
    """Separate fields from parameters, which come last and look like numbers."""
    signature = SIGNATURES[function]
    count = len(given)
    while count and _DECIMAL.fullmatch(given[count - 1]) and count > 1:
        count -= 1
    fields, numbers = list(given[:count]), given[count:]
    least, most = len(signature.takes) - signature.optional, len(signature.takes)
    if not (least <= len(fields) <= most and all(fields)):
        wanted = {1: "one field"}.get(most, "one or two fields")
        if least == 0:
            wanted = "no field, or one"
        msg = f"{text!r}: {function} takes {wanted}, as in {usage(function)}"
        raise ValueError(msg)
    needed = sum(default is None for _, default in signature.parameters)
    if not needed <= len(numbers) <= len(signature.parameters):
        msg = f"{text!r}: {function} is written {usage(function)}"
        raise ValueError(msg)
    read = [
        _parameter(kind, number, text)
        for (kind, _), number in zip(signature.parameters, numbers, strict=False)
    ]
    left_out = signature.parameters[len(numbers) :]
    return fields, (*read, *(default for _, default in left_out if default is not None))


def usage(function: Function) -> str:
    """Return an example call of a function, as in a pipeline file."""
    signature = SIGNATURES[function]
    names = ["ok" if signature.takes == ("bool",) else "delay", "carrier"]
    names = [] if function == "count" else names[: len(signature.takes)]
    arguments = [*names, *(_EXAMPLES[kind] for kind, _ in signature.parameters)]
    return function + (f"({', '.join(arguments)})" if arguments else "")


def _parameter(kind: Parameter, text: str, call: str) -> Fraction | int:
    match = _DECIMAL.fullmatch(text)
    assert match is not None  # noqa: S101 - `_split` took only such text for a parameter
    number = Fraction(match[1]) / (100 if match[2] else 1)
    match kind:
        case "share":
            legal, rule = 0 <= number <= 1, "a share lies between 0 and 1, as 0.99 or 99%"
        case "accuracy":
            legal = Fraction(1, 10_000) <= number <= Fraction(1, 4)
            rule = "a relative accuracy lies between 0.01% and 25%"
        case "k":
            legal, rule = number.denominator == 1 and 1 <= number <= 10_000, "k is 1 to 10000"
        case "size":
            legal = number.denominator == 1 and 16 <= number <= 65_536
            rule = "the number of hashes is 16 to 65536"
    if not legal or (match[2] and kind in ("k", "size")):
        msg = f"{call!r}: {text} is not possible: {rule}"
        raise ValueError(msg)
    return int(number) if kind in ("k", "size") else number


def check_aggregate(aggregate: Aggregate, fields: Mapping[str, FieldType]) -> None:
    """Check that an aggregate's fields exist and have the right types.

    Raises:
        ValueError: no such field, or one of a kind that the function does not take.
    """
    for field in aggregate.fields:
        if field not in fields:
            known = ", ".join(fields) or "none"
            msg = f"{field!r} is not under source.fields (known: {known}){meant(field, fields)}"
            raise ValueError(msg)
    if aggregate.function == "python":
        return
    takes = SIGNATURES[aggregate.function].takes
    for field, wanted in zip(aggregate.fields, takes, strict=False):
        kinds, words = TAKES[wanted]
        kind = fields[field].kind
        if kind not in kinds:
            article = "an" if kind == "int" else "a"
            msg = (
                f"{field} is {article} {kind}; {aggregate.function} needs {words}: declare it "
                f"{_either(kinds)}, or use one of {', '.join(_taking(kind))}"
            )
            raise ValueError(msg)
    if aggregate.field is not None:
        _check_digits(aggregate, fields[aggregate.field])


def _check_digits(aggregate: Aggregate, type_: FieldType) -> None:
    """Check that a result of decimals can have as many digits as it needs."""
    if type_.kind != "decimal":
        return
    if aggregate.function == "mean" and type_.scale + MEAN_PLACES > PRECISION_MAX:
        most = PRECISION_MAX - MEAN_PLACES
        msg = (
            f"{aggregate.field} is {type_}: its mean has {MEAN_PLACES} more digits after the "
            f"point, and at most {PRECISION_MAX} are possible: declare it with at most {most} there"
        )
        raise ValueError(msg)
    if aggregate.function in SPREAD and type_.precision > NARROW_MAX:
        msg = (
            f"{aggregate.field} is {type_}: {aggregate.function} takes decimals of up to "
            f"{NARROW_MAX} digits: declare it with fewer, or float"
        )
        raise ValueError(msg)


def _either(kinds: Sequence[str]) -> str:
    *most, last = kinds
    return f"{', '.join(most)} or {last}" if most else last


def _taking(kind: Kind) -> list[str]:
    """Return the functions of one field that take a kind."""
    return [
        name
        for name, signature in SIGNATURES.items()
        if len(signature.takes) == 1 and kind in TAKES[signature.takes[0]][0]
    ]


def may_overflow(aggregate: Aggregate, fields: Mapping[str, FieldType]) -> bool:
    """Whether a result may leave int64 or 38 digits: then it is null in its row, which names it."""
    if aggregate.function not in ("sum", "mean") or aggregate.field is None:
        return False
    type_ = fields[aggregate.field]
    if type_.kind == "decimal":
        return aggregate.function == "sum" or type_.precision + MEAN_PLACES > PRECISION_MAX
    return aggregate.function == "sum" and type_.kind == "int"


def value_type(aggregate: Aggregate, fields: Mapping[str, FieldType]) -> ValueType:
    """Return the type of an aggregate's result."""
    if aggregate.user is not None:
        return ValueType(user_aggregate.load(aggregate.user).returns)
    signature = SIGNATURES[aggregate.function]
    of_last = fields[aggregate.fields[-1]] if aggregate.fields else FieldType("int")
    if signature.gives == "mean" and of_last.kind == "decimal":
        return ValueType("decimal", False, PRECISION_MAX, of_last.scale + MEAN_PLACES)
    if signature.gives == "mean":
        return ValueType("float")
    if signature.gives != "same":
        return ValueType(signature.gives, signature.many)
    if len(aggregate.fields) < len(signature.takes):
        return ValueType("int", signature.many)  # the windowing attribute is the field
    if aggregate.function == "sum" and of_last.kind == "decimal":
        return ValueType("decimal", False, PRECISION_MAX, of_last.scale)
    return ValueType.of(of_last, many=signature.many)
