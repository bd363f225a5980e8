"""The type of an expression, or what is wrong with its types and names.

The precision of a decimal is that of its largest possible value, at most 38: what has more digits
fails when it is evaluated. Scales are never cut: one beyond 38 is a mistake that is found here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NoReturn

from windowing.model.errors import meant
from windowing.model.expressions.errors import ExpressionError, known
from windowing.model.expressions.names import written
from windowing.model.expressions.tree import Call, Constant, Expression, Name
from windowing.model.paths import parse_path, spelled
from windowing.model.types import PRECISION_MAX, FieldType, Kind

NUMBERS: Final = ("int", "decimal", "float")
_BOOL, _INT, _FLOAT, _STRING = (FieldType(kind) for kind in ("bool", "int", "float", "string"))
_TIMESTAMP: Final = FieldType("timestamp")
_INT_DIGITS: Final = 19
_DIVIDED: Final = 6
"""How many digits a quotient of decimals has more, after the point, than what is divided."""

CASTS: Final[Mapping[Kind, tuple[Kind, ...]]] = {
    "int": ("int", "float", "decimal", "string", "timestamp"),
    "float": ("float", "int", "decimal"),
    "decimal": ("decimal", "int", "float", "string"),
    "string": ("string", "int", "float", "decimal", "bool", "timestamp", "date"),
    "bool": ("bool", "int", "string"),
    "timestamp": ("timestamp", "int", "date", "string"),
    "date": ("date", "timestamp", "string"),
}
"""To what each kind can be cast."""

_OF_TEXTS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(("||", "lower", "upper", "trim", "substr"), "string"),
    **dict.fromkeys(("like", "starts_with"), "bool"),
    "length": "int",
}
"""What functions of texts give."""

_LITERALS: Final = {"date": "DATE '2026-01-31'", "timestamp": "TIMESTAMP '2026-01-31T12:00:00Z'"}
_WRITTEN: Final = {
    **{name: name.upper() for name in ("and", "or", "not", "like", "when")},
    **{"add_interval": "INTERVAL", "negate": "-"},
}
_EXAMPLES: Final = {
    "bool": "amount > 0",
    "int": "cast(x AS int)",
    "string": "cast(x AS string)",
    "timestamp": "cast(x AS timestamp)",
}


def type_of(expression: Expression, known_types: Mapping[str, FieldType], text: str) -> FieldType:
    """Return the type of an expression; nullable: it may be null without a failure.

    Args:
        known_types: what names may stand in it: fields, derived ones, metadata.
        text: what it was parsed from, for messages.

    Raises:
        ExpressionError: a name is unknown, an operand has another type than the operator takes, or
            the type is unknown because there is nothing but NULL.
    """
    found = _Checker(known_types, text).type_of(expression)
    if found is None:
        msg = "NULL alone has no type: write one, as cast(NULL AS int)"
        raise ExpressionError(msg, text, expression.at)
    return found


class _Checker:
    """Types of nodes; None: of NULL, which fits every type."""

    def __init__(self, known_types: Mapping[str, FieldType], text: str) -> None:
        self._known, self._text = known_types, text

    def type_of(self, node: Expression) -> FieldType | None:
        if isinstance(node, Constant):
            return node.type
        if isinstance(node, Name):
            return self._known.get(node.name) or self._unknown(node)
        types = [self.type_of(argument) for argument in node.arguments]
        return self._of_call(node, types)

    def _refuse(self, message: str, node: Expression) -> NoReturn:
        raise ExpressionError(message, self._text, node.at)

    def _unknown(self, node: Name) -> NoReturn:
        names = [written(name) for name in self._known]
        if not node.name.startswith("$"):
            first = spelled(parse_path(node.name)[:1])
            if first != node.name and first in self._known:
                msg = f"{written(first)} is of type {self._known[first]} and has no parts: declare "
                msg += f"{node.name} in `fields` instead, as {node.name}: string?"
                self._refuse(msg, node)
        hint = meant(written(node.name), names)
        msg = f"{written(node.name)} is not known{hint}{known(names, hint)}"
        self._refuse(msg + ". Texts stand in single quotes, as 'text'" * (not hint), node)

    def _of_call(self, call: Call, types: list[FieldType | None]) -> FieldType | None:
        name = call.function
        nullable = any(type_ is None or type_.nullable for type_ in types)
        if name in ("and", "or", "not"):
            self._all(call, types, "bool")
            return FieldType("bool", nullable)
        if name == "is_null":
            return _BOOL
        if name in ("=", "<>", "<", "<=", ">", ">=", "in", "between"):
            for argument, type_ in zip(call.arguments[1:], types[1:], strict=True):
                self._comparable(call, argument, types[0], type_)
            return FieldType("bool", nullable)
        if name in ("case", "coalesce", "least", "greatest", "nullif"):
            return self._chosen(call, types)
        if name in ("+", "-", "*", "/"):
            return self._arithmetic(call, types[0], types[1], nullable)
        if name in ("div", "mod"):
            self._all(call, types, "int")
            return FieldType("int", nullable)
        if name in ("negate", "abs", "floor", "ceil", "round"):
            return self._rounded(call, types[0])
        if name == "cast":
            return self._cast(call, types[0], nullable)
        if name in ("date_trunc", "extract", "add_interval"):
            self._all(call, types, "timestamp")
            return FieldType("int" if name == "extract" else "timestamp", nullable)
        texts = 1 if name == "substr" else len(types)
        self._all(call, types[:texts], "string")
        self._all(call, types[texts:], "int", skip=texts)
        return FieldType(_OF_TEXTS[name], nullable)

    def _all(self, call: Call, types: list[FieldType | None], kind: Kind, skip: int = 0) -> None:
        for argument, type_ in zip(call.arguments[skip:], types, strict=False):
            if type_ is not None and type_.kind != kind:
                self._wants(call, argument, kind, type_)

    def _wants(self, call: Call, argument: Expression, kind: str, type_: FieldType) -> NoReturn:
        article = "an" if kind == "int" else "a"
        name = _WRITTEN.get(call.function, call.function)
        self._refuse(f"{name} takes {article} {kind}, not {type_}: as {_EXAMPLES[kind]}", argument)

    def _comparable(
        self, call: Call, argument: Expression, left: FieldType | None, right: FieldType | None
    ) -> None:
        if left is None or right is None or left.kind == right.kind:
            return
        if left.kind in NUMBERS and right.kind in NUMBERS:
            return
        kinds = {left.kind, right.kind}
        literal = next((_LITERALS[kind] for kind in _LITERALS if kind in kinds), None)
        if literal and "string" in kinds:
            advice = f"write {literal}"
        elif literal:
            advice = f"cast one, as cast(d AS {'timestamp' if 'date' in kinds else left.kind})"
        else:
            to = next((kind for kind in ("int", "string") if kind in kinds), None)
            advice = "cast one" if to is None else f"cast one, as cast(x AS {to})"
        self._refuse(f"{left} and {right} cannot be compared: {advice}", argument)

    def _common(
        self, call: Call, places: list[Expression], types: list[FieldType | None]
    ) -> FieldType | None:
        """Return the type that values of several types take; None: all of them are NULL."""
        found: FieldType | None = None
        for place, type_ in zip(places, types, strict=True):
            if type_ is None or found is None:
                found = found or type_
                continue
            if found.kind == type_.kind != "decimal":
                continue
            if found.kind not in NUMBERS or type_.kind not in NUMBERS:
                msg = f"{call.function} gives one type, and has {found} and {type_}: cast one of "
                self._refuse(msg + f"them, as cast(x AS {found})", place)
            found = common_number(found, type_)
        return found and FieldType(found.kind, False, found.precision, found.scale)

    def _chosen(self, call: Call, types: list[FieldType | None]) -> FieldType | None:
        name, arguments = call.function, [*call.arguments]
        nullable = [type_ is None or type_.nullable for type_ in types]
        if name == "nullif":
            self._comparable(call, arguments[1], types[0], types[1])
            found = types[0]
            return found and FieldType(found.kind, True, found.precision, found.scale)
        if name == "case":
            conditions = types[0:-1:2]
            for condition, type_ in zip(arguments[0:-1:2], conditions, strict=True):
                if type_ is not None and type_.kind != "bool":
                    self._wants(Call("when", ()), condition, "bool", type_)
            arguments = [*arguments[1::2], arguments[-1]]
            types, nullable = [*types[1::2], types[-1]], [*nullable[1::2], nullable[-1]]
        found = self._common(call, arguments, types)
        null = any(nullable) if name == "case" else all(nullable)
        return found and FieldType(found.kind, null, found.precision, found.scale)

    def _arithmetic(
        self, call: Call, left: FieldType | None, right: FieldType | None, nullable: bool
    ) -> FieldType | None:
        operator = call.function
        if left is None and right is None:
            self._refuse("NULL alone has no type: write one, as cast(NULL AS int)", call)
        left, right = left or right, right or left
        assert left is not None and right is not None  # noqa: S101, PT018 - one was not
        if operator == "-" and left.kind == right.kind == "timestamp":
            return FieldType("int", nullable)
        for argument, type_ in zip(call.arguments, (left, right), strict=True):
            if type_.kind not in NUMBERS:
                self._no_number(call, argument, type_)
        if "float" in (left.kind, right.kind) or (
            operator == "/" and left.kind == right.kind == "int"
        ):
            return FieldType("float", nullable)
        if left.kind == right.kind == "int":
            return FieldType("int", nullable)
        return self._of_decimals(call, as_decimal(left), as_decimal(right), nullable)

    def _no_number(self, call: Call, argument: Expression, type_: FieldType) -> NoReturn:
        advice = {
            "string": "texts are joined by ||, and cast(x AS int) makes a number of one",
            "timestamp": "write t + INTERVAL '3 days', or t - t for microseconds",
            "date": "write cast(d AS timestamp) + INTERVAL '3 days'",
            "bool": "write cast(b AS int)",
        }[type_.kind]
        self._refuse(f"{call.function} takes numbers, not {type_}: {advice}", argument)

    def _of_decimals(
        self, call: Call, left: FieldType, right: FieldType, nullable: bool
    ) -> FieldType:
        operator = call.function
        whole = (left.precision - left.scale, right.precision - right.scale)
        if operator == "*":
            scale, digits = left.scale + right.scale, left.precision + right.precision
        elif operator == "/":
            scale = left.scale + _DIVIDED
            digits = whole[0] + right.scale + scale
        else:
            scale = max(left.scale, right.scale)
            digits = max(whole) + scale + 1
        if scale > PRECISION_MAX:
            msg = (
                f"{left} {operator} {right} has {scale} digits after the point, and a decimal has "
            )
            msg += f"at most {PRECISION_MAX}: cast one to fewer, as cast(x AS decimal(18,6))"
            self._refuse(msg, call)
        return FieldType("decimal", nullable, min(digits, PRECISION_MAX), scale)

    def _rounded(self, call: Call, type_: FieldType | None) -> FieldType | None:
        if type_ is None:
            return None
        if type_.kind not in NUMBERS:
            self._no_number(call, call.arguments[0], type_)
        if type_.kind != "decimal" or call.function in ("negate", "abs"):
            return type_
        scale = min(max(call.places, 0), type_.scale)
        grows = scale < type_.scale or call.places < 0
        digits = type_.precision - type_.scale + scale + grows
        return FieldType("decimal", type_.nullable, min(digits, PRECISION_MAX), scale)

    def _cast(self, call: Call, type_: FieldType | None, nullable: bool) -> FieldType:
        to = call.to
        assert to is not None  # noqa: S101 - casts have one
        if type_ is not None and to.kind not in CASTS[type_.kind]:
            casts = ", ".join(kind for kind in CASTS[type_.kind] if kind != type_.kind)
            msg = f"{type_} cannot be cast to {to}: it can be to {casts}"
            self._refuse(msg, call)
        return FieldType(to.kind, nullable, to.precision, to.scale)


def as_decimal(type_: FieldType) -> FieldType:
    """Return an exact number's type as that of a decimal."""
    if type_.kind == "int":
        return FieldType("decimal", type_.nullable, _INT_DIGITS, 0)
    return type_


def common_number(left: FieldType, right: FieldType) -> FieldType:
    """Return the type that two kinds of numbers have in common, not nullable."""
    if "float" in (left.kind, right.kind):
        return _FLOAT
    if left.kind == right.kind == "int":
        return _INT
    left, right = as_decimal(left), as_decimal(right)
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return FieldType("decimal", False, min(whole + scale, PRECISION_MAX), scale)
