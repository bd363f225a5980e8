"""What a source computes of its records: `derive`, `rules`, `where`, and arguments of aggregates.

All are expressions over the fields of one record. They are evaluated in this order: derived fields
and rules as their keys stand in the file, the filter, and arguments. The first that fails, or rule
that is broken, makes a dead letter of the record; what a filter does not take is filtered, and what
comes behind is not evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal

from windowing.model.errors import meant, shown
from windowing.model.expressions.check import type_of
from windowing.model.expressions.errors import ExpressionError
from windowing.model.expressions.parse import parse_expression
from windowing.model.expressions.tree import Expression, Name, names_in
from windowing.model.fates import FILTERED, WARNED, Fate
from windowing.model.metadata import is_metadata, metadata_type
from windowing.model.names import check_field_name, check_name
from windowing.model.paths import parse_path
from windowing.model.reading import MistakeAt, PartSpec, reading_step
from windowing.model.times import POWERS
from windowing.model.types import FieldType

Role = Literal["derive", "rule", "warn", "where", "argument", "time"]

EVENT_TIME: Final = "event_time"
"""The name of an event time that is an expression; windows may call any event time so."""

BAD_EXPRESSION: Final = "bad_expression"
"""The reason of a dead letter for which an expression has no value."""

# Why it has none.
ZERO: Final = "division by zero"
OVERFLOW: Final = "overflow, as no type has the result"
YEARS: Final = "a time outside of the years 1 to 9999"
CAST: Final = "a cast"
SUBSTR: Final = "substr from below 1, or of a length below 0"

BUILT_IN: Final = ("derive", "rules", "where")
"""The keys of a source that are expressions."""

WARNINGS_MAX: Final = 60
"""The most rules of a source that only warn: each has one bit of a record's number."""

_CONDITION: Final = FieldType("bool", nullable=True)
_RULES_EXAMPLE = "rules: [{name: positive, check: 'amount > 0', on_fail: dead_letter}]"


@dataclass(frozen=True)
class Computation:
    """One expression of a source.

    Attributes:
        name: of the field that it computes, or of the rule; `where` of the filter.
        text: as written.
        type: of its values; known once the source's fields are.
        path: where it stands in the source, for messages.
    """

    role: Role
    name: str
    text: str
    expression: Expression
    type: FieldType = _CONDITION
    path: tuple[str | int, ...] = ()

    @property
    def is_field(self) -> bool:
        """Whether its values are a field."""
        return self.role in ("derive", "argument")

    @property
    def reason(self) -> str:
        """The reason of a dead letter, if this is a rule that is broken."""
        return f"rule:{self.name}"

    def typed(self, known: Mapping[str, FieldType]) -> Computation:
        """Return it with its type.

        Args:
            known: the types of all names that it may use.

        Raises:
            MistakeAt: a name is unknown, or a type is wrong.
        """
        try:
            found = type_of(self.expression, with_metadata(known, [self]), self.text)
            if self.role == "time":
                self._check_time(found)
            elif not self.is_field and found.kind != "bool":
                msg = (
                    f"{shown(self.text)} is {found}, and what a record has to fulfil is true or "
                    "false: compare it, as amount > 0"
                )
                raise ExpressionError(msg, self.text, self.expression.at)
        except ValueError as error:
            raise MistakeAt(self.path, str(error)) from None
        return replace(self, type=found)

    def _check_time(self, found: FieldType) -> None:
        if found.kind not in ("timestamp", "int"):
            msg = (
                f"{shown(self.text)} is {found}, and a time is a timestamp, or an int in unit: "
                "cast it, as cast(x AS timestamp)"
            )
            raise ExpressionError(msg, self.text, self.expression.at)


@dataclass(frozen=True)
class Computations:
    """The settings of one key, parsed.

    Attributes:
        fate: that of records which it withholds, or None.
    """

    items: tuple[Computation, ...]
    fate: Fate | None = None


def _parsed(role: Role, name: str, text: object, path: tuple[str | int, ...]) -> Computation:
    if isinstance(text, bool | int | float):
        text = str(text).lower()
    try:
        if not isinstance(text, str):
            msg = f"{shown(text)} is not an expression: write it as text, as amount * 100 / 119"
            raise ValueError(msg)
        return Computation(role, name, text, parse_expression(text), path=path)
    except ValueError as error:
        raise MistakeAt(path, str(error)) from None


@reading_step("derive")
class Derive:
    """`derive: {net: "amount * 100 / 119"}`: fields that are computed."""

    @classmethod
    def parse(cls, settings: object) -> Computations:
        """Read names and expressions, as pairs in the order of the file.

        Raises:
            MistakeAt: a name or an expression is wrong.
        """
        if not isinstance(settings, list) or not all(map(_is_pair, settings)) or not settings:
            msg = f"{shown(settings)}: name expressions, as derive: {{net: 'amount * 100 / 119'}}"
            raise MistakeAt(("derive",), msg)
        return Computations(tuple(cls._one(name, text) for name, text in settings))

    @staticmethod
    def _one(name: object, text: object) -> Computation:
        path = ("derive", str(name))
        try:
            check_derived_name(name)
        except ValueError as error:
            raise MistakeAt(path, str(error)) from None
        return _parsed("derive", str(name), text, path)


def _is_pair(entry: object) -> bool:
    return isinstance(entry, list | tuple) and len(entry) == 2


def check_derived_name(name: object) -> None:
    """Check the name of a derived field.

    Raises:
        ValueError: it is not text, or would be read as another thing in an expression.
    """
    if not isinstance(name, str):
        msg = f"{shown(name)} is no name: quote it, as '{name}'"
        raise ValueError(msg)
    check_field_name(name)
    if is_metadata(name) or len(parse_path(name)) != 1:
        msg = f"{shown(name)}: a derived field has a plain name, without $, dots and brackets"
        raise ValueError(msg)


@reading_step("rules")
class Rules:
    """`rules: [{name: positive, check: "amount > 0"}]`: what records have to fulfil."""

    _KEYS: ClassVar = ("name", "check", "on_fail")
    _ROLES: ClassVar[Mapping[object, Role]] = {"dead_letter": "rule", "warn": "warn"}

    @classmethod
    def parse(cls, settings: object) -> Computations:
        """Read the rules.

        Raises:
            MistakeAt: one is not of this form, or two have the same name.
        """
        if not isinstance(settings, list) or not settings:
            msg = f"{shown(settings)} is no list of rules: write {_RULES_EXAMPLE}"
            raise MistakeAt(("rules",), msg)
        rules = tuple(cls._rule(number, one) for number, one in enumerate(settings))
        names = [rule.name for rule in rules]
        for number, name in enumerate(names):
            if name in names[:number]:
                msg = f"two rules have the name {name!r}: give each its own"
                raise MistakeAt(("rules", number, "name"), msg)
        if sum(rule.role == "warn" for rule in rules) > WARNINGS_MAX:
            msg = f"{len(rules)} rules: at most {WARNINGS_MAX} of a source can have on_fail: warn"
            raise MistakeAt(("rules",), msg)
        return Computations(rules)

    @classmethod
    def _rule(cls, number: int, rule: object) -> Computation:
        here = ("rules", number)
        if not isinstance(rule, Mapping):
            msg = f"{shown(rule)} is no rule: write {_RULES_EXAMPLE}"
            raise MistakeAt(here, msg)
        for key in rule:
            if key not in cls._KEYS:
                known = ", ".join(cls._KEYS)
                msg = f"unknown key {key!r}{meant(key, cls._KEYS) or f'; known are {known}'}"
                raise MistakeAt((*here, str(key)), msg)
        for key in ("name", "check"):
            if key not in rule:
                msg = f"{key} is missing and must be given: write {_RULES_EXAMPLE}"
                raise MistakeAt(here, msg)
        try:
            name = check_name(rule["name"], most=100)
        except ValueError as error:
            raise MistakeAt((*here, "name"), str(error)) from None
        role = cls._ROLES.get(rule.get("on_fail", "dead_letter"))
        if role is None:
            msg = f"{shown(rule['on_fail'])} is not allowed: on_fail is dead_letter or warn"
            raise MistakeAt((*here, "on_fail"), msg)
        return _parsed(role, name, rule["check"], (*here, "check"))


@reading_step("where")
class Where:
    """`where: "ok AND country <> 'XX'"`: which records are taken."""

    @classmethod
    def parse(cls, settings: object) -> Computations:
        """Read the condition.

        Raises:
            MistakeAt: it is no expression.
        """
        return Computations((_parsed("where", "where", settings, ("where",)),), FILTERED)


def of_steps(
    steps: Iterable[PartSpec], declared: Mapping[str, FieldType]
) -> tuple[Computation, ...]:
    """Return what a source computes, in its order, with types.

    Args:
        steps: in the order of the file.
        declared: the fields that values have.

    Raises:
        MistakeAt: a name is unknown or taken, or a type is wrong.
    """
    own = [one for step in steps if step.name in BUILT_IN for one in step.data.items]
    own.sort(key=lambda one: one.role == "where")
    known, found = dict(declared), list[Computation]()
    for one in own:
        if one.is_field and one.name in known:
            msg = (
                f"{one.name!r} is under source.fields already: give the derived field its own name"
            )
            raise MistakeAt(one.path, msg)
        found.append(_explained(one, known, own))
        if one.is_field:
            known[one.name] = found[-1].type
    return tuple(found)


def of_time(
    text: str | None, unit: object, declared: Mapping[str, FieldType]
) -> Computation | None:
    """Return the expression of an event time; None: it is a field.

    Raises:
        MistakeAt: it is no expression, a name is unknown, or it is no time.
    """
    if text is None:
        return None
    path = ("event_time", "expr")
    if EVENT_TIME in declared:
        msg = f"{EVENT_TIME} is the name of the event time, and of a field: rename the field"
        raise MistakeAt(path, msg)
    found = _parsed("time", EVENT_TIME, text, path).typed(declared)
    if found.type.kind == "int" and unit not in POWERS:
        msg = f"{shown(text)} is an int: say of what, as unit: {' or '.join(POWERS)}"
        raise MistakeAt(path, msg)
    return found


def _explained(
    one: Computation, known: Mapping[str, FieldType], own: Iterable[Computation]
) -> Computation:
    """Return a computation with its type; the message says if a name is derived further down."""
    later = {other.name for other in own if other.is_field} - known.keys()
    for used in names_in(one.expression):
        if used.name in later:
            msg = (
                f"{shown(one.text)}: {used.name} is derived further down, and what is computed "
                f"sees only what stands above it: move {one.name} below it"
            )
            raise MistakeAt(one.path, msg)
    return one.typed(known)


def with_metadata(
    known: Mapping[str, FieldType], computations: Iterable[Computation]
) -> dict[str, FieldType]:
    """Return types of names, and of the metadata that some expressions use.

    Raises:
        ValueError: there is no such metadata.
    """
    return {**known, **{name: metadata_type(name) for name in metadata_in(computations)}}


def metadata_in(computations: Iterable[Computation]) -> list[str]:
    """Return the metadata that some expressions use, each once."""
    used = (name.name for one in computations for name in names_in(one.expression))
    return list(dict.fromkeys(filter(is_metadata, used)))


def is_of_expression(reason: str) -> bool:
    """Return whether a dead letter's reason is an expression or a rule of the source."""
    return reason == BAD_EXPRESSION or reason.startswith("rule:")


def warning(name: str) -> Fate:
    """Return what counts the records that break a rule which only warns."""
    return Fate(WARNED + name, f"did not fulfil the rule {name}, and went on", beside=True)


def plain_name(expression: Expression) -> str | None:
    """Return the name that an expression consists of; None: it is more than a name."""
    return expression.name if isinstance(expression, Name) else None
