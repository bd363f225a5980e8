"""The steps from a value's members to a record, in the order in which their reasons apply.

Each step has two halves, written here next to each other: an exact one, a value at a time, and a
fast one, by column. The fast one says of which rows it is certain; all others are read exactly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, Final, TypeVar

import polars as pl

from windowing.engine.columns import TIME, WRITTEN_TIME, field_column
from windowing.engine.reading.decimals import read_decimal
from windowing.engine.reading.decoders.decoder import dtype_of
from windowing.engine.reading.objects import BadValue
from windowing.engine.reading.rules import ValueRules
from windowing.engine.reading.times import time_us
from windowing.model.fates import Fate
from windowing.model.file.pipeline import EventTime
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.limits import LATEST
from windowing.model.registry import Registry
from windowing.model.types import FieldType

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
FIRST_DAY: Final = "0001-01-01"
"""The first date: calendars of ours have no year 0."""

APPENDED: Final = "_appended"
"""The column of the broker's append time, null if it is not known."""


@dataclass(slots=True)
class Draft:
    """A record that is being read.

    Attributes:
        members: what the value has, as decoded.
        append_us: the broker's append time, or None where it is not known.
        fate: why it is withheld from windows; None: it is not.
        metadata: what else is used of the record, by name.
    """

    members: Mapping[str, Any]
    append_us: int | None
    ts_us: int = 0
    fields: dict[str, Any] = field(default_factory=dict)
    fate: Fate | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Step:
    """One step; without its own method, a half does nothing."""

    def exact(self, draft: Draft) -> None:
        """Judge or change a draft.

        Raises:
            BadValue: with the reason.
        """

    def columns(self, there: Iterable[str]) -> Mapping[str, pl.Expr]:
        """Return the columns that it computes, by name.

        Args:
            there: the names of the columns so far.
        """
        del there
        return {}

    def certain(self) -> Iterable[pl.Expr]:
        """Return conditions on the columns; a row that does not fulfil them all is doubtful."""
        return ()


class TimeStep(Step):
    """The event time, and whether it is legal."""

    def __init__(self, rules: ValueRules) -> None:
        self._rules, self._unit_us = rules, rules.event_time.spelling.unit_us

    def exact(self, draft: Draft) -> None:
        """Read the time."""
        member = self._rules.found(draft.members, self._rules.event_time.field)
        draft.ts_us = _event_time(member, draft.append_us, self._rules)

    def columns(self, there: Iterable[str]) -> Mapping[str, pl.Expr]:
        """Return the time in microseconds."""
        del there
        return {TIME: pl.col(WRITTEN_TIME) * self._unit_us}

    def certain(self) -> Iterable[pl.Expr]:
        """Return which times are legal."""
        return (_legal_time(self._rules, self._unit_us),)


class NamesStep(Step):
    """No unknown member, and no key that is null; no fast decoder reads others."""

    def __init__(self, rules: ValueRules) -> None:
        self._rules = rules
        self._never_null = [name for name in rules.key_fields if not rules.fields[name].nullable]

    def exact(self, draft: Draft) -> None:
        """Judge the names."""
        members, rules = draft.members, self._rules
        if not rules.ignore_unknown and not all(map(rules.known, members)):
            raise BadValue("unknown_field")
        if any(rules.found(members, name) is None for name in self._never_null):
            raise BadValue("null_key")


class TypesStep(Step):
    """The declared fields, of their types, and within what windows can lie over."""

    def __init__(self, rules: ValueRules) -> None:
        self._rules = rules

    def exact(self, draft: Draft) -> None:
        """Read the fields."""
        members, rules = draft.members, self._rules
        draft.fields = {
            name: rules.places(name, _typed(rules.found(members, name), type_, rules))
            for name, type_ in rules.fields.items()
        }

    def columns(self, there: Iterable[str]) -> Mapping[str, pl.Expr]:
        """Return the fields; null where the values leave one out."""
        known = {*there}
        return {
            field_column(name): _field(self._rules, name, there=field_column(name) in known)
            for name in self._rules.fields
        }

    def certain(self) -> Iterable[pl.Expr]:
        """Return which values are legal, for each field that has limits."""
        for name, type_ in self._rules.fields.items():
            own = pl.col(field_column(name))
            if type_.kind == "float":
                yield own.is_finite().fill_null(value=True)
            if type_.kind == "date":
                day = own.str.to_date("%Y-%m-%d", strict=False)
                spelled = (day.cast(pl.String) == own) & (own >= FIRST_DAY)
                yield (
                    pl.when(own.is_null())
                    .then(pl.lit(value=True))
                    .otherwise(spelled.fill_null(value=False))
                )
            if type_.kind == "timestamp":
                there = own.is_between(self._rules.earliest, LATEST, closed="left")
                yield there.fill_null(value=True)
            if name in self._rules.placed_by:
                yield own.is_between(self._rules.earliest, LATEST, closed="left")


STEP_PARTS: Final = Registry[Callable[[Any], Step]]("step_part", "step_parts")
"""The engine's half of steps that sources name."""

_Class = TypeVar("_Class", bound=type[Step])


def step_part(name: str) -> Callable[[_Class], _Class]:
    """Register the decorated class as the engine's half of the step of this name.

    It is instantiated with the step's data.

    Raises:
        PluginError: the name is taken.
    """
    return STEP_PARTS.entry(name)


def steps_of(rules: ValueRules) -> list[Step]:
    """Return all steps behind the decoder, in their order."""
    named = (STEP_PARTS.required(step.name)(step.data) for step in rules.steps)
    return [TimeStep(rules), NamesStep(rules), TypesStep(rules), *named]


def finished(steps: Iterable[Step], decoded: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Apply the fast halves of steps.

    Args:
        decoded: columns as a decoder gives them, and `APPENDED`.

    Returns:
        the columns with those that the steps compute, and which rows are certain.
    """
    conditions = list[pl.Expr]()
    for step in steps:
        columns = step.columns(decoded.columns)
        decoded = decoded.with_columns(**columns) if columns else decoded
        conditions += step.certain()
    return decoded, decoded.select(pl.all_horizontal(conditions)).to_series()


def _legal_time(rules: ValueRules, unit_us: int) -> pl.Expr:
    """Return which event times are legal, compared in their own unit, so that nothing overflows."""
    time, instant = rules.event_time, pl.col(WRITTEN_TIME)
    legal = instant.is_between(-(-rules.first_us // unit_us), (time.end_us - 1) // unit_us)
    if time.max_ahead_us is not None:
        latest = pl.col(APPENDED).clip(upper_bound=INT64_MAX - time.max_ahead_us)
        ahead = instant * unit_us > latest + time.max_ahead_us
        legal &= ahead.fill_null(value=False).not_()
    return legal.fill_null(value=False)


def _field(rules: ValueRules, name: str, *, there: bool) -> pl.Expr:
    """Return a declared field's column; null where the values leave it out."""
    own, type_ = field_column(name), rules.fields[name]
    if name == rules.event_time.field and type_.kind == "timestamp":
        return pl.col(TIME).alias(own)
    if not there and name == rules.event_time.field:
        return pl.col(WRITTEN_TIME).alias(own)
    if there and type_.kind == "float":
        number = pl.col(own).cast(pl.Float64)
        # There is one zero.
        return pl.when(number == 0).then(0.0).otherwise(number).alias(own)
    if there:
        return pl.col(own)
    return pl.lit(None, dtype=dtype_of(type_)).alias(own)


def _event_time(value: Any, append_us: int | None, rules: ValueRules) -> int:
    rule = rules.event_time
    if value is None:
        raise BadValue("missing_event_time")
    ts_us = time_us(value, rule.spelling)
    if ts_us is None:
        raise BadValue("bad_event_time")
    return check_time(ts_us, append_us, rules)


def check_time(ts_us: int, append_us: int | None, rules: ValueRules) -> int:
    """Check that an event time is legal, and return it.

    Raises:
        BadValue: `time_out_of_range` or `time_ahead`.
    """
    rule = rules.event_time
    if not rules.first_us <= ts_us < rule.end_us:
        raise BadValue("time_out_of_range")
    ahead_us = rule.max_ahead_us
    if append_us is not None and ahead_us is not None and ts_us > append_us + ahead_us:
        raise BadValue("time_ahead")
    return ts_us


def check_instant(instant_us: int, append_us: int | None, rule: EventTime) -> None:
    """Check that a control record may claim that nothing comes before an instant.

    `max` itself is legal: all legal times are before it.

    Raises:
        BadValue: `time_out_of_range` or `time_ahead`.
    """
    if instant_us > rule.end_us:
        raise BadValue("time_out_of_range")
    ahead_us = rule.max_ahead_us
    if append_us is not None and ahead_us is not None and instant_us > append_us + ahead_us:
        raise BadValue("time_ahead")


def _typed(value: Any, type_: FieldType, rules: ValueRules) -> Any:
    if value is None:
        if type_.nullable:
            return None
        raise BadValue("bad_type")
    if type_.kind == "decimal":
        return read_decimal(value, type_)
    if type_.kind == "timestamp":
        return _timestamp(value, rules)
    return _READERS[type_.kind](value)


def typed(value: Any, name: str, rules: ValueRules) -> Any:
    """Return a field's value, which is not null, as its type has it.

    Raises:
        BadValue: `bad_type`.
    """
    return _typed(value, rules.fields[name], rules)


def _int(value: Any) -> int:
    if type(value) is not int or not INT64_MIN <= value <= INT64_MAX:
        raise BadValue("bad_type")
    return value


def _float(value: Any) -> float:
    if type(value) not in (int, float, Decimal):
        raise BadValue("bad_type")
    try:
        number = float(value)
    except OverflowError:
        raise BadValue("bad_type") from None
    if not math.isfinite(number):
        raise BadValue("bad_type")
    return number + 0.0  # turns -0.0 into 0.0


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise BadValue("bad_type")
    return value


def _bool(value: Any) -> bool:
    if type(value) is not bool:
        raise BadValue("bad_type")
    return value


def _date(value: Any) -> str:
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        raise BadValue("bad_type")
    try:
        date.fromisoformat(value)
    except ValueError:
        raise BadValue("bad_type") from None
    return value


def _timestamp(value: Any, rules: ValueRules) -> int:
    """Read an instant, spelled as event times are, that sinks can hold."""
    us = time_us(value, rules.event_time.spelling)
    if us is None or not rules.earliest <= us < LATEST:
        raise BadValue("bad_type")
    return us


_READERS: dict[str, Callable[[Any], Any]] = {
    "int": _int,
    "float": _float,
    "string": _string,
    "bool": _bool,
    "date": _date,
}


def misfit(record: dict[str, Any], rules: ValueRules) -> str | None:
    """Return the first declared field whose value its type does not allow, or None."""
    for name, type_ in rules.fields.items():
        try:
            rules.places(name, _typed(rules.found(record, name), type_, rules))
        except BadValue:
            return name
    return None


def progress_key(rules: ValueRules, name: str, value: Any) -> dict[str, Any] | None:
    """Return the key of a bound on `name` = `value`; None: it has no separate progress."""
    if name != rules.progress_attr:
        return None
    try:
        return {name: _typed(value, rules.fields[name], rules)}
    except BadValue:
        return None  # impossible value
