"""Operators as written in a pipeline file, and the query that they make."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Annotated, Any, Final, Literal, Self, cast

from pydantic import BeforeValidator, Field, model_validator

from windowing.model.errors import WindowError, shown
from windowing.model.field_names import FieldName
from windowing.model.fields import Aggregate, Kind, check_aggregate, parse_aggregate
from windowing.model.late import Late
from windowing.model.operators.language import parse_clause
from windowing.model.operators.query import LANE, Clock, OperatorQuery, Order
from windowing.model.operators.steps import (
    AggregateStep,
    Comparator,
    Condition,
    DedupStep,
    Direction,
    Punctuate,
    Scalar,
    SortStep,
    Step,
    UserStep,
    WindowStep,
)
from windowing.model.source import Source, SpecModel, known_fields
from windowing.model.windows.policy import Count, Delta, Policy, Punct, WindowClause

Blaming = Callable[..., AbstractContextManager[None]]
"""Attributes a broken rule inside the block to a path of the file."""

_USER: Final = re.compile(r"python:([A-Za-z_][\w.]*:[A-Za-z_]\w*)")
_CONDITION: Final = re.compile(r"\s*([^\s<>=!]+)\s*(<=|>=|!=|<|>|=)\s*('[^']*'|[+-]?[0-9.]+)\s*")
_OPERATORS: Final = ("aggregate", "sort", "dedup", "python:module:Class")


def _condition(text: object) -> Condition:
    found = _CONDITION.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        msg = f"{shown(text)} is not a condition: compare a field, as cancelled = 1 or code = 'x'"
        raise ValueError(msg)
    field, comparator, constant = found.groups()
    value: int | float | str
    if constant.startswith("'"):
        value = constant[1:-1]
    else:
        value = float(constant) if "." in constant else int(constant)
    return Condition(field, cast("Comparator", comparator), value)


class PunctuateFile(SpecModel):
    """`punctuate:` as written.

    Attributes:
        when: a window punctuation follows each tuple for which this holds.
    """

    when: Annotated[Condition, BeforeValidator(_condition)]


class StepFile(SpecModel):
    """One operator as written, before defaults.

    Attributes:
        operator: its name, or `python:module:Class`.
        window: its window, as text or as a mapping.
        punctuate: punctuations in its input.
        group_by, aggregates, partial_windows, evicted_partitions: of aggregate.
        by: what Sort sorts by, and what Dedup compares.
        outputs, settings: of a user's operator.
    """

    operator: str
    window: str | dict[str, Any]
    punctuate: PunctuateFile | None = None
    group_by: list[str] = Field(default_factory=list)
    aggregates: dict[str, Any] = Field(default_factory=dict)
    partial_windows: bool = False
    evicted_partitions: bool = False
    by: list[str] = Field(default_factory=list)
    outputs: dict[FieldName, Kind] = Field(default_factory=dict)
    settings: dict[str, Scalar] = Field(default_factory=dict)


class _QueryOptions(SpecModel):
    order: Order = "canonical"
    clock: Clock = "record"
    late: Late | None = None


class OperatorFile(StepFile, _QueryOptions):
    """A query with one operator, as written.

    Attributes:
        order: the order in which records reach it.
        clock: what its time policies follow.
        late: the policy for late records.
    """

    @property
    def steps(self) -> list[StepFile]:
        """Its operators."""
        return [self]


class StepsFile(_QueryOptions):
    """A query with a chain of operators, as written.

    Attributes:
        steps: the operators, in order.
        order, clock, late: as of `OperatorFile`.
    """

    steps: list[StepFile]

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.steps:
            msg = "steps is empty: add an operator, as {operator: sort, window: …, by: [delay]}"
            raise ValueError(msg)
        return self


# What belongs to which operator, besides its window and its punctuations.
_OWN: Final = {
    "aggregate": {"group_by", "aggregates", "partial_windows", "evicted_partitions"},
    "sort": {"by"},
    "dedup": {"by"},
    "python": {"outputs", "settings"},
}


def resolve(
    name: str, file: OperatorFile | StepsFile, source: Source, late: Late, blaming: Blaming
) -> OperatorQuery:
    """Return a query of operators with all defaults applied.

    Args:
        name: of the query.
        file: as written.
        source: what its records are.
        late: the pipeline's policy, for a query without one.
        blaming: attributes a broken rule to a part of the file.

    Raises:
        ValueError: a rule is broken.
    """
    here = ("queries", name)
    steps = list[Step]()
    for number, step in enumerate(file.steps):
        at = here if isinstance(file, OperatorFile) else (*here, "steps", number)
        if step.punctuate is not None:
            with blaming(*at, "punctuate"):
                _known(step.punctuate.when.field, source)
            steps.append(Punctuate(step.punctuate.when))
        steps.append(_step(step, source, blaming, at, last=step is file.steps[-1]))
    chosen = file.late or late
    with blaming(*here, "late") if file.late else blaming("late"):
        if chosen.policy == "update":
            msg = (
                "operators take no late records, which would reorder all that follow: drop them, "
                "or write late: {policy: dead_letter}"
            )
            raise ValueError(msg)
    query = OperatorQuery(
        name=name,
        steps=tuple(steps),
        attribute=source.event_time.field,
        fields=tuple(source.fields),
        order=file.order,
        clock=file.clock,
        late=chosen,
    )
    with blaming(*here):
        if query.order == "lane" and LANE in query.key[1:]:
            msg = (
                f"in lane order {LANE} is the first field of a row's key: call the field otherwise"
            )
            raise ValueError(msg)
    return query


def _step(
    file: StepFile, source: Source, blaming: Blaming, at: tuple[str | int, ...], *, last: bool
) -> WindowStep:
    with blaming(*at, "operator"):
        user = _USER.fullmatch(file.operator)
        kind = "python" if user else file.operator
        if kind not in _OWN:
            msg = f"{shown(file.operator)} is no operator: use {', '.join(_OPERATORS)}"
            raise ValueError(msg)
        if kind in ("aggregate", "python") and not last:
            msg = f"{file.operator} is the last of a chain: what follows it would see no records"
            raise ValueError(msg)
    for other in sorted(set().union(*_OWN.values()) - _OWN[kind]):
        if other in file.model_fields_set:
            with blaming(*at, other):
                msg = f"{other} does not go with operator: {file.operator}"
                raise ValueError(msg)
    with blaming(*at, "window"):
        window = parse_clause(file.window, source.event_time.field)
        _check_window(window, source)
    if kind == "aggregate":
        return _aggregate(file, window, source, blaming, at)
    if user:
        with blaming(*at, "outputs"):
            if not file.outputs:
                msg = "outputs is empty: name what the operator sends, as {swing: float}"
                raise ValueError(msg)
        return UserStep(window, user[1], tuple(file.outputs.items()), tuple(file.settings.items()))
    with blaming(*at, "by"):
        if not file.by:
            msg = f"{kind} needs by, the fields to compare, as by: [delay]"
            raise ValueError(msg)
        if kind == "sort":
            return SortStep(window, tuple(_directed(text, source) for text in file.by))
        for field in file.by:
            _known(field, source)
    with blaming(*at, "window"):
        if window.kind != "sliding" or window.trigger != Count(1):
            msg = "dedup takes a sliding window with the trigger count(1)"
            raise WindowError("E_VALUE", msg)
    return DedupStep(window, tuple(file.by))


def _aggregate(
    file: StepFile,
    window: WindowClause,
    source: Source,
    blaming: Blaming,
    at: tuple[str | int, ...],
) -> AggregateStep:
    for number, field in enumerate(file.group_by):
        with blaming(*at, "group_by", number):
            _known(field, source)
    aggregates = list[Aggregate]()
    with blaming(*at, "aggregates"):
        if not file.aggregates:
            msg = "aggregates is empty: add one, as {records: count}"
            raise ValueError(msg)
    for name, text in file.aggregates.items():
        with blaming(*at, "aggregates", name):
            one = parse_aggregate(name, text)
            check_aggregate(one, source.fields)
            aggregates.append(one)
    return AggregateStep(
        window,
        tuple(aggregates),
        tuple(file.group_by),
        partial_windows=file.partial_windows,
        evicted_partitions=file.evicted_partitions,
    )


def _check_window(window: WindowClause, source: Source) -> None:
    """Check the fields of a window, and that its kind has its policies."""
    for policy in _policies(window):
        if isinstance(policy, Delta) and policy.attribute != source.event_time.field:
            _known(policy.attribute, source)
            kind = source.fields[policy.attribute]
            if kind.kind == "string" or kind.nullable:
                msg = f"delta({policy.attribute}, …) needs a number that is never null"
                raise WindowError("E_ATTR_TYPE", msg)
        if window.kind == "sliding" and isinstance(policy, Punct):
            raise WindowError("E_VALUE", "a sliding window has no punctuation policy")
    for name in window.partition_by:
        _known(name, source)
    if window.partition_eviction is not None and not window.partition_by:
        raise WindowError("E_VALUE", "EVICT needs partitions: add PARTITIONED BY a field")


def _policies(window: WindowClause) -> Iterator[Policy]:
    yield window.eviction
    if window.trigger is not None:
        yield window.trigger


def _known(field: str, source: Source) -> None:
    if field not in source.fields:
        msg = f"E_ATTR_UNKNOWN: {shown(field)} is not under source.fields ({known_fields(source)})"
        raise ValueError(msg)


def _directed(text: str, source: Source) -> tuple[str, Direction]:
    """Parse `delay` or `delay desc`."""
    name, _, direction = text.strip().rpartition(" ")
    spelled: dict[str, Direction] = {
        **{"asc": "ascending", "ascending": "ascending"},
        **{"desc": "descending", "descending": "descending"},
    }
    if name and direction.lower() in spelled:
        found = name.strip(), spelled[direction.lower()]
    else:
        found = text.strip(), "ascending"
    _known(found[0], source)
    return found


def section(value: object) -> Literal["[window]", "[operator]", "[steps]"]:
    """Return which kind of query an entry of `queries:` is, as a tag of pydantic's union."""
    if isinstance(value, StepsFile) or (isinstance(value, dict) and "steps" in value):
        return "[steps]"
    if isinstance(value, OperatorFile) or (isinstance(value, dict) and "operator" in value):
        return "[operator]"
    return "[window]"
