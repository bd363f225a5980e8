"""The `join:` section of a pipeline file: two sources, which records match, what a row shows.

The lanes of both sources are numbered together, the left side's first, and behind both those that
were added later: everything that reads records asks `JoinedSource.place`.

Source: SAMZA-552, "Join operator"; outer joins and the spelling are ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, InstanceOf, ValidationInfo, model_validator

from windowing.model.event_time import SpecModel
from windowing.model.lengths import duration_us
from windowing.model.names import ColumnName
from windowing.model.operators.language import is_clause, parse_side
from windowing.model.pair_values import PairExpression, parse_pair_expression
from windowing.model.paths import PATH, named
from windowing.model.progress import Slack
from windowing.model.reading import JSON
from windowing.model.source import Source
from windowing.model.types import FieldType, Kind
from windowing.model.windows.policy import WindowClause

Side = Literal["left", "right"]

PAIRS = "pairs"
"""The name of a join's rows."""

PLACE = ("left", "left_offset", "right", "right_offset")
"""The fields of a pair's key after the equal ones: lane and offset of both records."""

Operator = Literal["<", "<=", "=", "!=", ">=", ">"]
_OPERAND = re.compile(rf"(left|right)\.({PATH})")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_TEXT = re.compile(r"'[^']*'")
_FIELD = r"""(?:"(?:[^"]|"")*"|[^\s<>=!"])+"""
_COMPARISON = re.compile(rf"({_FIELD})\s*(<=|>=|!=|<|>|=)\s*('[^']*'|{_FIELD})")


@dataclass(frozen=True)
class Operand:
    """A field of one of the two records."""

    side: Side
    field: str

    @property
    def name(self) -> str:
        """Its name among the fields of a pair."""
        return f"{self.side}.{self.field}"


@dataclass(frozen=True)
class Comparison:
    """`left.delay > right.wind`; a comparison with null is false."""

    first: Operand
    operator: Operator
    second: Operand | int | float | str


def _window(window: object, side: ValidationInfo) -> object:
    if window is None or not is_clause(window):
        return None if window is None else duration_us(window)
    # Without a source, the mistakes of that are reported instead.
    source = side.data.get("source")
    return None if source is None else parse_side(window, source)


class JoinSide(SpecModel):
    """One stream of a join.

    Attributes:
        window: a length of time or, of SPL's Join, a policy window.
    """

    source: Source
    window: Annotated[int | WindowClause | None, BeforeValidator(_window)] = None

    @property
    def window_us(self) -> int | None:
        """How far back its records are visible to a later one of the other stream, inclusive.

        None: as far as the retention, or forever without one.
        """
        return self.window if isinstance(self.window, int) else None

    @property
    def clause(self) -> WindowClause | None:
        """The policy window of its records; None: it has another."""
        return self.window if isinstance(self.window, WindowClause) else None


def _operand(text: object) -> Operand:
    found = _OPERAND.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        msg = f"{text!r} names no field: write left.FIELD or right.FIELD"
        raise ValueError(msg)
    return Operand("left" if found[1] == "left" else "right", named(found[2]))


def parse_comparison(text: object) -> Comparison:
    """Parse `left.delay > right.wind`.

    Raises:
        ValueError: not of that form.
    """
    found = _COMPARISON.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        msg = f"{text!r} is not a condition: write one as left.delay > right.wind"
        raise ValueError(msg)
    first, operator, second = found.groups()
    value: Operand | int | float | str
    if _TEXT.fullmatch(second):
        value = second[1:-1]
    elif _NUMBER.fullmatch(second):
        value = float(second) if "." in second else int(second)
    else:
        value = _operand(second)
    return Comparison(_operand(first), operator, value)  # type: ignore[arg-type]


def _equalities(value: object) -> object:
    return {name: name for name in value} if isinstance(value, list) else value


def _shown(text: object) -> Operand | PairExpression:
    if not isinstance(text, str) or _OPERAND.fullmatch(text):
        return _operand(text)
    return parse_pair_expression(text)


_Shown = Annotated[InstanceOf[Operand] | InstanceOf[PairExpression], BeforeValidator(_shown)]


_COMPARED: Final[Mapping[str, str]] = {
    "string": "text",
    "date": "text",
    "bool": "truth",
    **dict.fromkeys(("int", "float", "decimal", "timestamp"), "number"),
}
"""What values are compared as; others are not alike."""
_OF_CONSTANTS: Final[Mapping[type, Kind]] = {int: "int", float: "float", str: "string"}


class Join(SpecModel):
    """A join of two streams.

    Attributes:
        operator: SPL's Join, over a policy window on each side; None: by distance in event time.
        kind: whose records are also sent alone, once no on-time partner can come; asof: the left
            ones, each with the newest right record (`windowing.model.asof`); window: pairs meet in
            windows (`windowing.model.window_join`).
        within: how much older than the left record its partner in an as-of join may be.
        window: of kind `window`: the windows, as a query writes them.
        outer: of kind `window`: whose records are sent alone where they have no partner.
        equal: pairs of a left and a right field that must be equal; null equals nothing.
        select: a row's columns: names, and fields of either record, or expressions over both.
    """

    operator: Literal["join"] | None = None
    left: JoinSide
    right: JoinSide
    kind: Literal["inner", "left", "right", "full", "asof", "window"] = "inner"
    within: Annotated[int, BeforeValidator(duration_us)] | None = None
    window: str | dict[str, Any] | None = None
    outer: Literal["left", "right", "full"] | None = None
    equal: Annotated[dict[str, str], BeforeValidator(_equalities)] = Field(default_factory=dict)
    where: tuple[Annotated[Comparison, BeforeValidator(parse_comparison)], ...] = ()
    select: Annotated[dict[ColumnName, _Shown], Field(min_length=1)]

    @model_validator(mode="after")
    def _rules(self) -> Self:
        if broken := [*self._broken()]:
            raise ValueError("; ".join(dict.fromkeys(broken)))
        return self

    def _broken(self) -> Iterator[str]:
        """Yield every rule that is broken."""
        left, right = self.left.source, self.right.source
        if left.topic == right.topic:
            yield f"both sides read topic {left.topic!r}: a join needs two"
        for source in (left, right):
            if source.topics is not None:
                yield f"topics {', '.join(source.topics)}: a side of a join reads one topic"
            if source.idle_timeout_us is not None:
                yield f"topic {source.topic!r}: a join has no early rows, and so no idle_timeout"
            if source.disorder.progress_attr is not None:
                yield f"topic {source.topic!r}: a join needs progress of its lanes, not per key"
        parts: list[Callable[[], object]] = [partial(self._check, one) for one in self.where]
        parts += [partial(self.type_of, one) for one in operands_in(self.select.values())]
        parts += [
            partial(self.type_of_shown, one)
            for one in self.select.values()
            if isinstance(one, PairExpression)
        ]
        try:
            parts = [*(partial(self._check_pair, *pair) for pair in self._paired()), *parts]
        except ValueError as error:
            yield str(error)
        for part in parts:
            try:
                part()
            except ValueError as error:
                yield str(error)

    def _check_pair(self, word: str, one: str, other: str) -> None:
        sides: tuple[tuple[Side, str], ...] = (("left", one), ("right", other))
        types = [self._declared(Operand(side, name)) for side, name in sides]
        alike = [(type_.kind, type_.scale) for type_ in types]
        if alike[0] != alike[1] or types[0].kind == "float" or one in PLACE:
            shown = [str(replace(type_, nullable=False)) for type_ in types]
            msg = (
                f"{word}: {one} is {shown[0]}, {other} is {shown[1]}: take fields of one type, "
                "but no floats"
            )
            raise ValueError(msg)
        if one in {operand.name for operand in operands_in(self.select.values())}:
            msg = f"{word}: a field called {one!r} is taken for that field of a side: rename it"
            raise ValueError(msg)

    def _paired(self) -> Iterator[tuple[str, str, str]]:
        """Yield the fields that must be equal or share a partition, with the key that names them.

        Raises:
            ValueError: both sides are partitioned, by different numbers of fields.
        """
        yield from (("equal", one, other) for one, other in self.equal.items())
        yield from (("PARTITIONED BY", one, other) for one, other in self.partitions.items())

    @property
    def partitions(self) -> dict[str, str]:
        """Pairs of a left and a right partition field; none unless both sides are partitioned.

        Raises:
            ValueError: the sides are partitioned by different numbers of fields.
        """
        left, right = (
            () if side.clause is None else side.clause.partition_by
            for side in (self.left, self.right)
        )
        if not left or not right:
            return {}
        if len(left) != len(right):
            msg = (
                f"PARTITIONED BY {', '.join(left)} and {', '.join(right)}: a record probes the "
                "opposite partition of its own key, so give as many fields left as right"
            )
            raise ValueError(msg)
        return dict(zip(left, right, strict=True))

    @property
    def key(self) -> dict[str, str]:
        """What a row's key has besides the places: fields of the left side, and of the right."""
        return {**self.partitions, **self.equal}

    def _check(self, comparison: Comparison) -> None:
        second = comparison.second
        of_first = self.type_of(comparison.first).kind
        of_second = (
            self.type_of(second).kind
            if isinstance(second, Operand)
            else _OF_CONSTANTS[type(second)]
        )
        alike = _COMPARED[of_first] == _COMPARED[of_second]
        if "decimal" in (of_first, of_second):
            # Exactly, and in columns of one scale.
            alike = of_second == "int" if not isinstance(second, Operand) else of_first == of_second
            if alike and isinstance(second, Operand):
                alike = self.type_of(comparison.first).scale == self.type_of(second).scale
        if not alike:
            msg = f"where: {comparison.first.name} is {of_first}, and is compared with {of_second}"
            raise ValueError(msg)

    def side(self, side: Side) -> JoinSide:
        """Return one of the sides."""
        return self.left if side == "left" else self.right

    def type_of(self, operand: Operand) -> FieldType:
        """Return the type of a field of one of the records.

        Raises:
            ValueError: there is no such field.
        """
        found = field_type(self.side(operand.side).source, operand.field)
        return self._declared(operand) if found is None else found

    def _declared(self, operand: Operand) -> FieldType:
        fields = self.side(operand.side).source.fields
        if operand.field not in fields:
            known = ", ".join(fields) or "none"
            msg = f"{operand.name}: {operand.field!r} is not under fields (known: {known})"
            raise ValueError(msg)
        return fields[operand.field]

    def type_of_shown(self, one: Operand | PairExpression) -> FieldType:
        """Return the type of what a row shows.

        Raises:
            ValueError: there is no such field, or an operand has another type than its operator
                takes.
        """
        if isinstance(one, Operand):
            return self.type_of(one)
        return one.type_in({each.name: self.type_of(each) for each in operands_in([one])})


def field_type(source: Source, field: str) -> FieldType | None:
    """Return the type of a field of a side's records; None: there is no such field.

    The event time is known without being a field: as the instant that it is.
    """
    if field not in source.fields and field == source.event_time.field:
        return FieldType("timestamp")
    return source.fields.get(field)


def operands_in(shown: Iterable[Operand | PairExpression]) -> Iterator[Operand]:
    """Yield the fields that some values of a row need."""
    for one in shown:
        if isinstance(one, Operand):
            yield one
        else:
            yield from (Operand(side, field) for side, field in one.fields)


class JoinedSource(Source):
    """The lanes of both sources of a join, numbered together.

    Its fields are those of a row: what must be equal, the places, and what is shown. Of the rest
    that a source says, each side has its own; the event time is the left side's, whose name stands
    for both sides' in clocks.
    """

    join: Join

    @classmethod
    def of(cls, join: Join) -> JoinedSource:
        """Number the lanes of both sides together."""
        left, right = join.left.source, join.right.source
        fields = {name: join.type_of(Operand("left", name)) for name in join.key}
        fields |= {name: FieldType("int" if "offset" in name else "string") for name in PLACE}
        fields |= {o.name: join.type_of(o) for o in operands_in(join.select.values())}
        return cls.model_construct(
            topic=f"{left.topic}+{right.topic}",
            partitions=left.partitions + right.partitions,
            format=JSON,
            event_time=left.event_time,
            declared={name: replace(type_, nullable=True) for name, type_ in fields.items()},
            disorder=Slack(0),
            unknown_fields=left.unknown_fields,
            dense=False,
            control=left.control,
            join=join,
        )

    @property
    def parts(self) -> tuple[Source, ...]:
        """The sources of both sides."""
        return self.join.left.source, self.join.right.source

    def as_of(self, lanes: int) -> JoinedSource:
        """Return the source as it was before lanes from this number on were added."""
        sides = {"left": self.join.left, "right": self.join.right}
        earlier = {
            name: side.model_copy(update={"source": side.source.as_of(lanes)})
            for name, side in sides.items()
        }
        return JoinedSource.of(self.join.model_copy(update=earlier))
