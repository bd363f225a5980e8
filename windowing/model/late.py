"""Late-record policy, as data."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from windowing.model.lengths import Step, duration_us, parse_step

Policy = Literal["drop", "dead_letter", "update"]
Mode = Literal["generous", "consistent"]


def _positive_us(value: object) -> int:
    return duration_us(value, minimum_us=1)


PositiveDuration = Annotated[int, BeforeValidator(_positive_us)]
_Epoch = Annotated[Step, BeforeValidator(partial(parse_step, minimum=1))]


class Late(BaseModel):
    """The policy for late records.

    Attributes:
        policy: drop (counted), dead_letter, or update (later revisions).
        mode: generous: judged per window; consistent: late for all of its windows or for none.
        every: length of a late epoch; given if and only if the policy is `update`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    policy: Policy = "dead_letter"
    mode: Mode = "generous"
    every: _Epoch | None = None

    @model_validator(mode="after")
    def _epoch(self) -> Late:
        if (self.policy == "update") != (self.every is not None):
            rule = (
                "update needs every" if self.policy == "update" else "every goes with update only"
            )
            msg = f"E_EPOCH: {rule}, as late: {{policy: update, every: 1 hour}}"
            raise ValueError(msg)
        return self

    @property
    def every_us(self) -> int | None:
        """The length of an epoch in the unit of the windowing attribute."""
        return None if self.every is None else self.every.amount
