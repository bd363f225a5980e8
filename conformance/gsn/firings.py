"""A recorded run of a sliding manager: queries that come and go, tuples, and what ran when."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, RootModel

from conformance.case_lines import read_rows


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WindowCase(_Part):
    """What a query sees: the last tuples, or those of the last while."""

    kind: Literal["count", "time"]
    size: PositiveInt


class QueryCase(_Part):
    """A query.

    Attributes:
        join, leave: it is active from `join` until before `leave`, None: to the end; in positions,
            or in instants of the wall clock in mode `local`.
    """

    id: str
    slide: PositiveInt
    window: WindowCase
    join: int
    leave: int | None

    def active(self, where: int) -> bool:
        """Whether it is active there."""
        return self.join <= where and (self.leave is None or where < self.leave)


class TupleCase(_Part):
    """A tuple: its position, its time stamp, and when it came by the wall clock."""

    pos: int
    ts: int
    wall: int


class _Case(_Part):
    id: str
    queries: list[QueryCase]
    tuples: list[TupleCase]
    expected: dict[str, Any]


class CountCase(_Case):
    """Slides by number of tuples."""

    mode: Literal["count"]


class LocalCase(_Case):
    """Slides by a timer."""

    mode: Literal["local"]
    origin: int
    start: int
    until: int


class EventCase(_Case):
    """Slides by event time."""

    mode: Literal["event"]
    origin: int


class RemoteACase(_Case):
    """Slides by the source's time, driven by tuples."""

    mode: Literal["remote_a"]


class RemoteBCase(_Case):
    """Slides by the source's time, driven by timers."""

    mode: Literal["remote_b"]
    alpha: float
    lambda0: float
    until: int


FiringCase = Annotated[
    CountCase | LocalCase | EventCase | RemoteACase | RemoteBCase, Field(discriminator="mode")
]


class _Line(RootModel[FiringCase]):
    """A line of the file."""


def read_cases(path: Path) -> Iterator[FiringCase]:
    """Read a file of runs.

    Raises:
        CaseError: the file cannot be read, or a line is not a case; with its number.
    """
    for line in read_rows(path, _Line, "not a case of a sliding manager"):
        yield line.root
