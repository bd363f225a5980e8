"""A query with windows as a pipeline file has it, before defaults."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from windowing.model.emission import (
    Accumulation,
    Early,
    Empty,
    Late,
    Retention,
    parse_empty,
    parse_retention,
)
from windowing.model.event_time import SpecModel
from windowing.model.having import HavingText
from windowing.model.windows.activity import Warmup, parse_moment

Kept = Annotated[Retention, BeforeValidator(parse_retention)]


Offset = Annotated[int, Field(strict=True, ge=0)]
Moment = Annotated[int, BeforeValidator(parse_moment)]


class QueryFile(SpecModel):
    """A query as written in the file, before defaults.

    Attributes:
        begins_us: since when it is active, as `windowing.model.windows.activity.Activity` has it.
        until_us, warmup, joined, left, later: the same; the last three are what a log makes of a
            file.
    """

    window: str | dict[str, Any]
    group_by: list[str] = Field(default_factory=list)
    aggregates: dict[str, Any]
    late: Late | None = None
    retention: Kept | None = None
    early: Early | None = None
    accumulation: Accumulation | None = None
    empty: Annotated[Empty | None, BeforeValidator(parse_empty)] = None
    having: HavingText = None
    begins_us: Moment | None = Field(default=None, alias="from")
    until_us: Moment | None = Field(default=None, alias="until")
    warmup: Warmup | None = None
    joined: dict[str, Offset] | None = None
    left: dict[str, Offset] | None = None
    later: dict[str, Moment] | None = None
