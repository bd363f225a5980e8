"""The `workload` of a plan: where its records come from, and how many a batch takes."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from windowing.model.errors import shown
from windowing.model.lengths import instant_us
from windowing.model.names import FileName, TopicName

RECORDS_MAX: Final = 1_000_000
"""Maximum number of records in a plan: they are held in memory and evaluated by the definition."""

_REFERENCE = re.compile(r"[\w.]+:\w+")
_SOURCES: Final = ("flights", "events", "topic", "python")


def _edge(value: object) -> object:
    """Parse offsets by partition, or an instant."""
    if not isinstance(value, dict):
        return instant_us(value)
    if all(type(lane) is int and type(at) is int and lane >= 0 <= at for lane, at in value.items()):
        return value
    msg = f"{shown(value)} are no offsets: write {{0: 100, 1: 250}}, or an ISO time"
    raise ValueError(msg)


def _reference(value: object) -> object:
    if not isinstance(value, str) or not _REFERENCE.fullmatch(value):
        msg = f"{shown(value)} names no function: write python: module:function"
        raise ValueError(msg)
    return value


Edge = Annotated[dict[int, int] | int, BeforeValidator(_edge)]
"""Where a range begins or ends: offsets by partition, or the append time in microseconds."""


class Workload(BaseModel):
    """The records for the job: exactly one of flights, events, topic and python.

    The `end` of every partition always comes last, after all faults.

    Attributes:
        flights: number of flights, the first of 2013, including poison.
        data: `flights`; or `departures` with tail numbers and, for a join, the weather, without
            poison.
        events: a file, relative to the plan: EVENTS.jsonl, or one value per line.
        topic: a topic of the stack that `slackwater up` started, or of the cluster of `--kafka`.
        from_, to: the range of the topic; None: its beginning, its current end.
        python: `module:function`, which takes a seed and yields lines of EVENTS.jsonl, or values.
        records: maximum number of a user's records; required for a generator.
        partition_by: field whose hash selects the partition of a value; None: partitions in turn.
        max_offsets: maximum number of offsets per batch, so that the job outlives the faults.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False)

    flights: Annotated[int, Field(strict=True, ge=100, le=336_776)] | None = None
    data: Literal["flights", "departures"] = "flights"
    events: FileName | None = None
    topic: TopicName | None = None
    from_: Edge | None = Field(default=None, alias="from")
    to: Edge | None = None
    python: Annotated[str, BeforeValidator(_reference)] | None = None
    records: Annotated[int, Field(strict=True, ge=1, le=RECORDS_MAX)] | None = None
    partition_by: str | None = None
    max_offsets: Annotated[int, Field(strict=True, ge=1, le=RECORDS_MAX)]

    @model_validator(mode="after")
    def _one_source(self) -> Workload:
        given = [name for name in _SOURCES if getattr(self, name) is not None]
        if len(given) != 1:
            named = " and ".join(given) or "none"
            msg = f"exactly one of {', '.join(_SOURCES)} says what is sent, and here is {named}"
            raise ValueError(f"{msg}: as {{events: mine.jsonl, max_offsets: 300}}")
        wrong = {
            "from": self.from_ is not None and self.topic is None,
            "to": self.to is not None and self.topic is None,
            "records": self.records is not None and self.flights is not None,
            "partition_by": self.partition_by is not None and given[0] in ("flights", "topic"),
            "data": self.data != "flights" and self.flights is None,
        }
        for name in (name for name, stands in wrong.items() if stands):
            msg = f"{name} means nothing to {given[0]}: take it out"
            raise ValueError(msg)
        if self.python is not None and self.records is None:
            msg = "a generator may never end: say how many it is asked for, as records: 5000"
            raise ValueError(msg)
        return self

    @property
    def known(self) -> int | None:
        """Number of records, if the plan itself determines it."""
        return self.flights if self.flights is not None else self.records if self.python else None

    def __str__(self) -> str:
        if self.flights is not None:
            return f"{self.flights:,} {self.data}"
        first = "" if self.records is None else f"the first {self.records:,} "
        if self.python is not None:
            return f"{self.records:,} records by {self.python}"
        where = self.events if self.events is not None else f"topic {self.topic}"
        return f"{first}records of {where}"
