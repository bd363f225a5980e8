"""When a query sends rows, and how long it keeps windows, as data: late, early, retention.

Source: SAMZA-552, "Emission policies" and "Retention"; the spelling in a pipeline file is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from windowing.model.errors import shown
from windowing.model.lengths import INT64_MAX, AttributeStep, duration_us, parse_step
from windowing.model.windows.window import Window

Policy = Literal["drop", "dead_letter", "update"]
Mode = Literal["generous", "consistent"]


def _positive_us(value: object) -> int:
    return duration_us(value, minimum_us=1)


PositiveDuration = Annotated[int, BeforeValidator(_positive_us)]
_Epoch = Annotated[AttributeStep, BeforeValidator(partial(parse_step, minimum=1))]


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
    def letter(self) -> str | None:
        """The reason of dead letters of records that are too late; None: they are dropped."""
        letters = {"dead_letter": "late", "update": "out_of_retention"}
        return letters.get(self.policy)

    @property
    def every_us(self) -> int | None:
        """The length of an epoch in the unit of the windowing attribute."""
        return None if self.every is None else self.every.amount


Accumulation = Literal["accumulating", "discarding", "retracting"]
"""What a later row of a window shows: its whole content; only what the previous row did not show;
or the whole content, after the previous row is retracted."""

# It is only ever subtracted, never below the earliest instant: any length is safe.
_Step = Annotated[AttributeStep, BeforeValidator(partial(parse_step, maximum=INT64_MAX))]
_Count = Annotated[int, Field(strict=True, ge=1)]


class Early(BaseModel):
    """Provisional rows of open windows; they are not part of the result.

    Attributes:
        every_us: the shortest wall-clock interval between two of them.
        records: how many records must arrive after a window's previous provisional row.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    every_us: PositiveDuration | None = Field(default=None, alias="every")
    records: _Count | None = None

    @model_validator(mode="after")
    def _one(self) -> Early:
        if (self.every_us is None) == (self.records is None):
            msg = "early takes one of the two: {every: 10 seconds} or {records: 1000}"
            raise ValueError(msg)
        return self


class Empty(BaseModel):
    """Rows of windows without records.

    Attributes:
        after: how many such windows are sent behind a window with records.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    after: _Count


def parse_empty(value: object) -> object:
    """Refuse what is no `{after: N}` in words.

    Raises:
        ValueError: it is none.
    """
    if value is None or isinstance(value, Empty) or (isinstance(value, Mapping) and value):
        return value
    many = value if type(value) is int and value > 0 else 3
    msg = f"{shown(value)} says nothing of windows without records: write empty: {{after: {many}}}"
    raise ValueError(msg)


class Retention(BaseModel):
    """How long windows are kept, and how much state.

    Attributes:
        time: how long after its end a window takes late records.
        windows: the same in slides of time or rows; the smaller of the two counts.
        entries: how many partial states a query may have in one shard. A batch that needs more
            fails; nothing is dropped.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    time: _Step | None = None
    windows: Annotated[int, Field(strict=True, ge=0)] | None = None
    entries: _Count | None = None

    def length_us(self, window: Window) -> int | None:
        """Return how long windows take late records, in their attribute's unit; None: no limit set.

        Raises:
            ValueError: it counts windows, but they do not end one slide apart.
        """
        given = [] if self.time is None else [self.time.amount]
        if self.windows is not None:
            if not window.traits.on_grid:
                msg = "retention: {windows: …} needs a SLIDE in time or rows; give it as a time"
                raise ValueError(msg)
            given.append(self.windows * window.slide)
        length = min(given, default=None)
        if length is not None and length > INT64_MAX:
            msg = f"retention: {self.windows} windows are {length} long: at most {INT64_MAX}"
            raise ValueError(msg)
        return length


def parse_retention(value: object) -> object:
    """Expand `12 hours` to `{time: 12 hours}`, and `100` to `{time: 100}`."""
    return {"time": value} if isinstance(value, str | int) else value


def check_early(window: Window, early: Early | None) -> None:
    """Check that the window can send provisional rows.

    Raises:
        ValueError: it cannot.
    """
    if early is None or window.traits.shows_early:
        return
    msg = (
        "early rows are for sliding, landmark and cumulating windows, rows in the order of the "
        f"log, and sessions, not for {window.kind}: leave early out"
    )
    raise ValueError(msg)


def check_empty(window: Window, empty: Empty | None) -> None:
    """Check that windows without records can be told.

    Raises:
        ValueError: which windows there are depends on the records, or none is ever empty.
    """
    if empty is None:
        return
    if not window.traits.follow_on:
        msg = (
            "empty is for windows that follow one another whatever the records, and of "
            f"{window.kind} windows there are none without records: leave empty out"
        )
        raise ValueError(msg)
    if window.traits.cumulative and window.range_ is None:
        msg = (
            "empty: a landmark window holds what the one before it holds, so that none is empty "
            "behind a key's first: leave empty out"
        )
        raise ValueError(msg)


def check_idle(window: Window, idle_timeout_us: int | None) -> None:
    """Check that the window can be shown without waiting for silent lanes.

    Raises:
        ValueError: it cannot: records still to come decide where its windows lie.
    """
    if idle_timeout_us is None or window.traits.shows_past_silence:
        return
    msg = (
        "idle_timeout is for windows that no order of records decides: sliding, landmark, "
        f"cumulating, sessions in time; not for {window.kind}: leave it out of the source"
    )
    raise ValueError(msg)
