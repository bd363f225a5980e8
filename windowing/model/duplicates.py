"""Duplicates of a source: which records have the same identity, and for how long one is remembered.

A record r is a duplicate iff an earlier record q of its lane that was kept has equal `by`, none of
it null, |t_r - t_q| < within, and t_r > P - within, P being the lane's progress by event time
before r. It is the progress of the lane alone, also where keys have more: what a lane has to
remember then follows from its own progress, whatever the keys of its records.

So what was kept at t_q can be forgotten once t_q <= P - 2 within. Progress only grows: a duplicate
r of q that comes later has t_r > P - within, and with t_q > t_r - within that is
t_q > P - 2 within.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from windowing.model.emission import PositiveDuration
from windowing.model.errors import meant
from windowing.model.facts import Facts
from windowing.model.reading import MistakeAt
from windowing.model.types import FieldType


class Duplicates(BaseModel):
    """What makes a record a duplicate of an earlier one of its lane.

    Attributes:
        by: the fields whose values are its identity; a record with a null among them has none.
        within_us: two records of one identity are the same only if they lie less than this apart.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    by: tuple[str, ...]
    within_us: PositiveDuration = Field(alias="within")

    @field_validator("by", mode="before")
    @classmethod
    def _names(cls, by: object) -> object:
        if not isinstance(by, list | tuple) or not by:
            msg = f"{by!r} names no fields: list those that identify a record, as by: [id]"
            raise ValueError(msg)
        twice = sorted({str(name) for name in by if by.count(name) > 1})
        if twice:
            msg = f"{twice[0]!r} is listed twice: name each field once"
            raise ValueError(msg)
        return by

    def facts(self) -> Facts:
        """Return the facts for the fingerprint; their names are a format."""
        return {"by": sorted(self.by), "within_us": self.within_us}

    def check(self, fields: Mapping[str, FieldType]) -> None:
        """Check that the source has the fields.

        Raises:
            MistakeAt: one is unknown.
        """
        for place, name in enumerate(self.by):
            if name not in fields:
                known = ", ".join(fields) or "none"
                msg = f"{name!r} is not under source.fields (known: {known}){meant(name, fields)}"
                raise MistakeAt(("duplicates", "by", place), msg)


def _mapping(value: object) -> object:
    if value is None or isinstance(value, Duplicates | Mapping):
        return value
    msg = f"{value!r} is no rule: write duplicates: {{by: [id], within: 1 hour}}"
    raise ValueError(msg)


DuplicatesRule = Annotated[Duplicates | None, BeforeValidator(_mapping)]
"""`source.duplicates`, as it stands in a file."""
