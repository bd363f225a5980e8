"""The event time of a source: where a record has it, how it is spelled, and which are legal."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from windowing.model.computed import EVENT_TIME
from windowing.model.lengths import INT64_MAX, INT64_MIN, duration_us, instant_us
from windowing.model.limits import EARLIEST, LATEST, PLAUSIBLE_US
from windowing.model.names import TimeName
from windowing.model.times import FRACTIONAL, Spelling, TextTimes, Unit, parse_unit

Instant = Annotated[int, BeforeValidator(instant_us)]
Duration = Annotated[int, BeforeValidator(duration_us)]


class SpecModel(BaseModel):
    """The base of a pipeline file's models: frozen, unknown keys rejected."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        arbitrary_types_allowed=True,
        ignored_types=(cached_property,),
        defer_build=True,  # a file has few of them, and what they validate takes long to prepare
    )


class EventTime(SpecModel):
    """The field of the event time, and the legal instants.

    Attributes:
        field: name of the field; it need not be in `fields`. Of an expression, `event_time`.
        expr: what the time is, an expression over fields and metadata; None: it is the field.
        unit: `us`, `ms`, `s`, `ns` (a JSON integer), `iso` (text), or how texts are written. Of an
            expression it is that of an int; and that of fields of type `timestamp`.
        fraction: times in `us`, `ms` or `s` may have a fraction.
        min_us, max_us: legal is `min_us <= ts_us < max_us`.
        max_ahead_us: legal is `ts_us <= append time + max_ahead_us`; None: not checked.
    """

    field: TimeName
    expr: str | None = None
    unit: Annotated[Unit | TextTimes, BeforeValidator(parse_unit)]
    fraction: bool = Field(default=False, strict=True)
    min_us: Instant = Field(default=INT64_MIN, alias="min")
    max_us: Instant = Field(default=INT64_MAX + 1, alias="max")
    max_ahead_us: Duration | None = Field(default=None, alias="max_ahead")

    @model_validator(mode="before")
    @classmethod
    def _of_expression(cls, written: object) -> object:
        if not isinstance(written, Mapping) or "expr" not in written:
            return written
        if "field" in written:
            msg = "the event time is a field or an expression: take field or expr out"
            raise ValueError(msg)
        return {"field": EVENT_TIME, "unit": "iso", **written}

    @cached_property
    def spelling(self) -> Spelling:
        """How it is spelled in values; fields of type `timestamp` are spelled alike."""
        return Spelling(self.unit, self.fraction)

    @property
    def first_us(self) -> int:
        """The earliest legal time."""
        return max(self.min_us, EARLIEST)

    @property
    def end_us(self) -> int:
        """The end of the legal range, exclusive."""
        return min(self.max_us, LATEST)

    @property
    def plausible_us(self) -> tuple[int, int]:
        """Where times are plausible, the end exclusive: wider where `min` or `max` is."""
        first = self.min_us if self.min_us > INT64_MIN else PLAUSIBLE_US[0]
        end = self.max_us if self.max_us <= INT64_MAX else PLAUSIBLE_US[1]
        return min(first, PLAUSIBLE_US[0]), max(end, PLAUSIBLE_US[1])

    @property
    def is_judged(self) -> bool:
        """Whether plausibility is judged: the file's own limits are not all that counts."""
        first, end = self.plausible_us
        return (first, end) == PLAUSIBLE_US or self.first_us < first or self.end_us > end

    @model_validator(mode="after")
    def _ordered(self) -> EventTime:
        if self.min_us >= self.max_us:
            msg = "min must lie before max, as min: '1970-01-01', max: '2100-01-01'"
            raise ValueError(msg)
        if self.fraction and self.unit not in FRACTIONAL:
            msg = f"fraction: true is for numbers in {', '.join(FRACTIONAL)}: take it out"
            raise ValueError(msg)
        return self
