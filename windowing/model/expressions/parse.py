"""Parse expressions: SQL's precedence, and nothing but what `semantics.md` has.

From the weakest to the strongest: OR, AND, NOT, comparisons (of which only one stands between two
operands), `||`, `+ -`, `* / div mod`, the sign. `NOT IN` and its like become `not` of the call,
`CASE x WHEN y` becomes `CASE WHEN x = y`, and AND and OR that stand in a row become one call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NoReturn, TypeVar

from windowing.model.errors import meant
from windowing.model.expressions.errors import ExpressionError, known
from windowing.model.expressions.functions import (
    EXTRACT_UNITS,
    FUNCTIONS,
    ROUND_PLACES,
    TRUNC_UNITS,
)
from windowing.model.expressions.literals import (
    date_literal,
    interval_us,
    number,
    timestamp_literal,
)
from windowing.model.expressions.names import RESERVED, name_of
from windowing.model.expressions.tokens import Token, tokens_of
from windowing.model.expressions.tree import Call, Constant, Detail, Expression
from windowing.model.types import FieldType, parse_field_type
from windowing.model.zones import Zone, zone_named

T = TypeVar("T")

NODES_MAX: Final = 500
DEPTH_MAX: Final = 64

_OR, _AND, _NOT, _COMPARING, _JOINING, _ADDING, _MULTIPLYING, _SIGN = range(1, 9)
_BINARY: Final = {
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), _COMPARING),
    "||": _JOINING,
    **dict.fromkeys("+-", _ADDING),
    **dict.fromkeys(("*", "/", "div", "mod"), _MULTIPLYING),
}
_PREDICATES: Final = ("is", "in", "between", "like")
_TYPES_ELSEWHERE: Final = {
    **dict.fromkeys(("varchar", "text", "char"), "string"),
    **dict.fromkeys(("bigint", "integer", "smallint"), "int"),
    **dict.fromkeys(("double", "real"), "float"),
    **dict.fromkeys(("boolean",), "bool"),
    **dict.fromkeys(("numeric", "decimal"), "decimal(12,2)"),
    **dict.fromkeys(("timestamptz", "datetime"), "timestamp"),
}


def parse_expression(text: str) -> Expression:
    """Parse an expression; names and types are not looked at.

    Raises:
        ExpressionError: it is none, or too large.
    """
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._next = text, tokens_of(text), 0
        self._open = 0
        self._sizes = dict[int, tuple[int, int]]()  # nodes and depth, of calls

    def whole(self) -> Expression:
        if self._ended:
            self._refuse("the expression is empty: write one, as amount > 0", self._peek)
        found = self._parse(_OR)
        if not self._ended:
            self._refuse_here("an operator, or the end")
        return found

    # Pieces.

    @property
    def _peek(self) -> Token:
        return self._tokens[self._next]

    @property
    def _ended(self) -> bool:
        return self._peek.kind == "end"

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += token.kind != "end"
        return token

    def _word(self, ahead: int = 0) -> str:
        """Return the next word in small letters; empty: the next piece is none."""
        token = self._tokens[min(self._next + ahead, len(self._tokens) - 1)]
        return token.text.lower() if token.kind == "word" else ""

    def _is_sign(self, sign: str, ahead: int = 0) -> bool:
        token = self._tokens[min(self._next + ahead, len(self._tokens) - 1)]
        return token.kind == "sign" and token.text == sign

    def _takes(self, what: str) -> bool:
        """Take a word or sign if it comes next."""
        found = self._is_sign(what) or self._word() == what.lower()
        self._next += found
        return found

    def _expect(self, what: str, usage: str = "") -> None:
        if not self._takes(what):
            self._refuse_here(what, usage)

    def _refuse(self, message: str, token: Token | int) -> NoReturn:
        at = token if isinstance(token, int) else token.at
        raise ExpressionError(message, self._text, at)

    def _refuse_here(self, wanted: str, usage: str = "") -> NoReturn:
        token = self._peek
        example = f", as in {usage}" if usage else ""
        instead = "where the expression ends" if token.kind == "end" else self._written(token)
        instead = f"{wanted} belongs {'' if token.kind == 'end' else 'here, not '}{instead}"
        self._refuse(instead + example, token)

    def _written(self, token: Token) -> str:
        return self._text[token.at : token.end]

    def _call(
        self,
        function: str,
        arguments: tuple[Expression, ...],
        at: int,
        detail: tuple[Detail, ...] = (),
        to: FieldType | None = None,
    ) -> Call:
        measured = [self._sizes.get(id(one), (1, 1)) for one in arguments]
        nodes, depth = 1 + sum(n for n, _ in measured), 1 + max(d for _, d in measured)
        for size, most, what in ((nodes, NODES_MAX, "parts"), (depth, DEPTH_MAX, "levels")):
            if size > most:
                msg = f"the expression has more than {most} {what}: cut it up with `derive`"
                self._refuse(msg, at)
        call = Call(function, arguments, detail, to, at)
        self._sizes[id(call)] = nodes, depth
        return call

    # Grammar.

    def _parse(self, weakest: int) -> Expression:
        """Parse as far as operators bind at least so strongly."""
        self._open += 1
        if self._open > 2 * DEPTH_MAX:  # an operator in parentheses opens two
            msg = f"the expression has more than {DEPTH_MAX} levels: cut it up with `derive`"
            self._refuse(msg, self._peek)
        left = self._operand(weakest)
        compared = False
        while True:
            operator, strength = self._operator()
            if strength < weakest or not operator:
                break
            if strength == _COMPARING and compared:
                msg = "comparisons do not follow each other: write a < b AND b < c, or parentheses"
                self._refuse(msg, self._peek)
            compared = strength == _COMPARING
            left = self._with_right(operator, strength, left)
        self._open -= 1
        return left

    def _operator(self) -> tuple[str, int]:
        """Return the operator that comes next, and how strongly it binds; empty: none."""
        token = self._peek
        name = token.text.lower() if token.kind in ("word", "sign") else ""
        if name in ("or", "and"):
            return name, _OR if name == "or" else _AND
        if name in _PREDICATES or (name == "not" and self._word(1) in _PREDICATES[1:]):
            return name, _COMPARING
        return (name, _BINARY[name]) if name in _BINARY else ("", 0)

    def _with_right(self, operator: str, strength: int, left: Expression) -> Expression:
        at = self._take().at
        if operator in ("and", "or"):
            operands = [left, self._parse(strength + 1)]
            while self._takes(operator):
                operands.append(self._parse(strength + 1))
            return self._call(operator, tuple(operands), at)
        if operator == "not":
            predicate = self._take().text.lower()
            return self._call("not", (self._predicate(predicate, left, at),), at)
        if operator in _PREDICATES:
            return self._predicate(operator, left, at)
        if self._word() == "interval" and self._tokens[self._next + 1].kind == "text":
            return self._moved(operator, left, at)
        return self._call(operator, (left, self._parse(strength + 1)), at)

    def _moved(self, operator: str, left: Expression, at: int) -> Expression:
        begins = self._take().at
        if operator not in "+-":
            self._refuse("intervals are added or taken away, as t + INTERVAL '3 days'", begins)
        length = self._literal(interval_us, self._take())
        return self._call("add_interval", (left,), at, (length if operator == "+" else -length,))

    def _predicate(self, name: str, left: Expression, at: int) -> Expression:
        if name == "is":
            negated = self._takes("not")
            self._expect("NULL", "x IS NOT NULL")
            found = self._call("is_null", (left,), at)
            return self._call("not", (found,), at) if negated else found
        if name == "in":
            usage = "x IN (1, 2)"
            self._expect("(", usage)
            return self._call("in", (left, *self._list(usage)), at)
        if name == "between":
            low = self._parse(_COMPARING + 1)
            self._expect("AND", "x BETWEEN 1 AND 9")
            return self._call("between", (left, low, self._parse(_COMPARING + 1)), at)
        if self._peek.kind != "text":
            self._refuse_here("a pattern in single quotes", "s LIKE 'ab%'")
        return self._call("like", (left,), at, (self._take().text,))

    def _list(self, usage: str) -> tuple[Expression, ...]:
        """Parse expressions with commas between them, and the bracket that closes them."""
        found = [self._parse(_OR)]
        while self._takes(","):
            found.append(self._parse(_OR))
        self._expect(")", usage)
        return tuple(found)

    def _operand(self, weakest: int) -> Expression:
        token, word = self._peek, self._word()
        if word == "not":
            if weakest > _NOT:
                self._refuse("NOT stands in parentheses here, as a = (NOT b)", token)
            self._take()
            return self._call("not", (self._parse(_NOT),), token.at)
        if self._takes("-"):
            if self._peek.kind == "number":
                digits = self._take()
                return self._literal(lambda text: number(text, token.at, negative=True), digits)
            return self._call("negate", (self._parse(_SIGN),), token.at)
        if self._takes("("):
            inner = self._parse(_OR)
            self._expect(")", "(a + b) * c")
            return inner
        if token.kind in ("number", "text"):
            self._take()
            if token.kind == "text":
                return Constant(token.text, FieldType("string"), token.at)
            return self._literal(lambda text: number(text, token.at), token)
        if token.kind == "key" or (word and word not in RESERVED):
            return self._name_or_call(token, word)
        return self._keyword(token, word)

    def _keyword(self, token: Token, word: str) -> Expression:
        if word in ("true", "false"):
            self._take()
            return Constant(word == "true", FieldType("bool"), token.at)
        if word == "null":
            self._take()
            return Constant(None, None, token.at)
        if word != "case":
            self._refuse_here("a name, a literal or a function", "amount * 2 > 10")
        return self._case(self._take().at)

    def _name_or_call(self, token: Token, word: str) -> Expression:
        after = self._tokens[self._next + 1]
        if word in ("date", "timestamp") and after.kind == "text":
            self._next += 2
            spelled = date_literal if word == "date" else timestamp_literal
            return self._literal(lambda text: spelled(text, token.at), after)
        if word == "interval" and after.kind == "text":
            self._refuse("an interval follows + or -, as t + INTERVAL '3 days'", token)
        if word and self._is_sign("(", 1):
            self._next += 2
            return self._function(word, token)
        begins = self._next
        self._take()
        while self._is_sign(".") or self._is_sign("["):
            self._step_of_path()
        pieces = self._tokens[begins : self._next]
        if self._peek.kind == "text":
            self._refuse_here("an operator, or the end")
        return self._literal(lambda _: name_of(pieces), token)

    def _step_of_path(self) -> None:
        if self._takes("["):
            place = self._take()
            if place.kind != "number" or not place.text.isdecimal() or len(place.text) > 9:
                self._refuse("a place in an array is a number from 0, as items[0]", place)
            self._expect("]", "items[0].sku")
            return
        self._expect(".")
        if self._peek.kind not in ("word", "key"):
            self._refuse_here("a name", "card.country")
        self._take()

    def _case(self, at: int) -> Expression:
        usage = "CASE WHEN x > 0 THEN 1 ELSE 0 END"
        subject = None if self._word() == "when" else self._parse(_OR)
        parts = list[Expression]()
        while self._takes("WHEN"):
            begins = self._peek.at
            condition = self._parse(_OR)
            if subject is not None:
                condition = self._call("=", (subject, condition), begins)
            self._expect("THEN", usage)
            parts += [condition, self._parse(_OR)]
        if not parts:
            self._refuse_here("WHEN", usage)
        parts.append(self._parse(_OR) if self._takes("ELSE") else Constant(None, None, at))
        self._expect("END", usage)
        return self._call("case", tuple(parts), at)

    def _function(self, name: str, token: Token) -> Expression:
        form = FUNCTIONS.get(name)
        if form is None:
            hint = f": write a {name} b" if name in _BINARY else meant(name, FUNCTIONS)
            msg = f"there is no function {token.text!r}{hint}{known(FUNCTIONS, hint)}"
            self._refuse(msg, token)
        if name == "cast":
            return self._cast(token.at, form.usage)
        if name == "extract":
            return self._extract(token.at, form.usage)
        if self._takes(")"):
            self._refuse(f"{name} takes arguments, as {form.usage}", token)
        if name == "date_trunc":
            unit = self._unit(self._take(), TRUNC_UNITS, form.usage, "text")
            self._expect(",", form.usage)
            argument = self._parse(_OR)
            return self._call(name, (argument,), token.at, (unit, *self._zone(form.usage)))
        arguments = self._list(form.usage)
        if not form.least <= len(arguments) <= (form.most or len(arguments)):
            many = f"{form.least} to {form.most}" if form.most != form.least else f"{form.most}"
            plural = "s" * (form.most != 1)
            msg = f"{name} takes {many} argument{plural}, as {form.usage}, not {len(arguments)}"
            self._refuse(msg, token)
        if name == "round":
            return self._round(arguments, token.at)
        return self._call(name, arguments, token.at)

    def _round(self, arguments: tuple[Expression, ...], at: int) -> Expression:
        places = arguments[1] if len(arguments) > 1 else Constant(0, FieldType("int"))
        if not (
            isinstance(places, Constant)
            and type(places.value) is int
            and abs(places.value) <= ROUND_PLACES
        ):
            msg = f"round takes a literal from -{ROUND_PLACES} to {ROUND_PLACES}, as round(x, 2)"
            self._refuse(msg, places.at)
        return self._call("round", arguments[:1], at, (places.value,))

    def _extract(self, at: int, usage: str) -> Expression:
        unit = self._unit(self._take(), EXTRACT_UNITS, usage, "word")
        self._expect("FROM", usage)
        argument = self._parse(_OR)
        return self._call("extract", (argument,), at, (unit, *self._zone(usage)))

    def _unit(self, token: Token, units: tuple[str, ...], usage: str, kind: str) -> str:
        unit = token.text.lower()
        if token.kind != kind or unit not in units:
            hint = meant(unit, units) if token.kind == kind else ""
            what = self._written(token) or "the end"
            self._refuse(f"{what} is not a unit{hint}{known(units, hint)}, as in {usage}", token)
        return unit

    def _zone(self, usage: str) -> tuple[Zone, ...]:
        """Parse the end of a call that may have a zone."""
        zone = tuple[Zone, ...]()
        if self._takes(","):
            if self._peek.kind != "text":
                self._refuse_here("a zone in single quotes", usage)
            zone = (self._literal(zone_named, self._take()),)
        self._expect(")", usage)
        return zone

    def _cast(self, at: int, usage: str) -> Expression:
        argument = self._parse(_OR)
        self._expect("AS", usage)
        first = self._take()
        last = first
        if self._is_sign("("):
            while last.kind != "end" and last.text != ")":
                last = self._take()
        written = self._text[first.at : last.end]
        elsewhere = _TYPES_ELSEWHERE.get(written.lower())
        try:
            to = parse_field_type(written.lower())
        except ValueError as error:
            msg = f"{written!r} is not a type: did you mean {elsewhere}?" if elsewhere else error
            self._refuse(str(msg).replace(", with ? where null is allowed ('int?')", ""), first)
        self._expect(")", usage)
        return self._call("cast", (argument,), at, to=to)

    def _literal(self, reading: Callable[[str], T], token: Token) -> T:
        try:
            return reading(token.text)
        except ExpressionError:
            raise
        except ValueError as error:
            self._refuse(str(error), token)
