"""Queries with operators as written in a pipeline file, before defaults and checks."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, Self, cast

from pydantic import BeforeValidator, Field, PlainValidator, model_validator

from windowing.model.emission import Accumulation, Early, Late
from windowing.model.errors import shown
from windowing.model.event_time import SpecModel
from windowing.model.file.query_file import Kept
from windowing.model.lengths import INT64_MAX
from windowing.model.names import FieldName
from windowing.model.operators.query import Clock, Order
from windowing.model.operators.steps import Comparator, Condition, Scalar
from windowing.model.paths import QUOTED, named
from windowing.model.types import Kind

_CONDITION: Final = re.compile(
    rf"""\s*((?:{QUOTED}|[^<>=!"])*(?:{QUOTED}|[^\s<>=!"]))\s*(<=|>=|!=|<|>|=)\s*('[^']*'|[+-]?[0-9]{{1,30}}(?:\.[0-9]{{1,30}})?)\s*"""
)


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
        if abs(value) > INT64_MAX:
            msg = f"{shown(text)}: {constant} does not fit 64 bits"
            raise ValueError(msg)
    return Condition(named(field), cast("Comparator", comparator), value)


def _window(value: object) -> object:
    if not isinstance(value, str | dict):
        msg = f"{shown(value)} is not a window: write it as text, or as a mapping"
        raise ValueError(msg)
    return value


def _setting(value: object) -> object:
    if not isinstance(value, Scalar):
        msg = f"{shown(value)} is not a setting: give a number, a text, true or false"
        raise ValueError(msg)
    return value


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
    window: Annotated[str | dict[str, Any], PlainValidator(_window)]
    punctuate: PunctuateFile | None = None
    group_by: list[str] = Field(default_factory=list)
    aggregates: dict[str, Any] = Field(default_factory=dict)
    partial_windows: bool = False
    evicted_partitions: bool = False
    by: list[str] = Field(default_factory=list)
    outputs: dict[FieldName, Kind] = Field(default_factory=dict)
    settings: dict[str, Annotated[Scalar, PlainValidator(_setting)]] = Field(default_factory=dict)


class _QueryOptions(SpecModel):
    order: Order = "canonical"
    clock: Clock = "record"
    late: Late | None = None
    # Parsed so that they can be refused with the reason.
    retention: Kept | None = None
    early: Early | None = None
    accumulation: Accumulation | None = None
    empty: Any = None
    having: Any = None


class OperatorFile(StepFile, _QueryOptions):
    """A query with one operator, as written.

    Attributes:
        order: the order in which records reach it.
        clock: what its time policies follow.
        retention, early, accumulation, empty, having: of queries with aggregates of windows;
            refused.
    """

    @property
    def steps(self) -> list[StepFile]:
        """Its operators."""
        return [self]


class StepsFile(_QueryOptions):
    """A query with a chain of operators, as written.

    Attributes:
        order, clock, late, retention, early, accumulation, empty, having: as of `OperatorFile`.
    """

    steps: list[StepFile]

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.steps:
            msg = "steps is empty: add an operator, as {operator: sort, window: …, by: [delay]}"
            raise ValueError(msg)
        return self


def section(value: object) -> Literal["[window]", "[operator]", "[steps]"]:
    """Return which kind of query an entry of `queries:` is, as a tag of pydantic's union."""
    if isinstance(value, StepsFile) or (isinstance(value, dict) and "steps" in value):
        return "[steps]"
    if isinstance(value, OperatorFile) or (isinstance(value, dict) and "operator" in value):
        return "[operator]"
    return "[window]"
