"""The parameters of a window operator in SECRET, and the tuples of its input.

Times and tuple ids are integers. An interval is open below and closed above, as in the sources:
`(low, high]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class StreamTuple(NamedTuple):
    """One tuple of the input.

    Attributes:
        arrival: instant at which it arrives (`tsys`); unique and increasing.
        number: its id, from 1 in order of arrival (`tid`); the domain of tuple windows.
        time: application time (`tapp`); the domain of time windows.
        batch: number of its batch, from 1, non-decreasing (`bid`).
    """

    arrival: int
    number: int
    time: int
    batch: int


class Domain(StrEnum):
    """What windows are intervals of."""

    time = "time"
    tuple = "tuple"


class Tick(StrEnum):
    """When an engine wakes up.

    `batch_end` is not in the sources: Spark Structured Streaming evaluates windows when a batch
    has been processed, with the batch's own tuples.
    """

    tuple = "tuple-driven"
    time = "time-driven"
    batch = "batch-driven"
    batch_end = "batch-end"


class Pick(StrEnum):
    """Which window is reported if several tuple windows qualify in one tick."""

    largest = "largest"
    smallest = "smallest"
    all = "all"


@dataclass(frozen=True)
class Report:
    """The conditions under which a window is shown; all that are set must hold.

    Attributes:
        content_change: the content differs from the one reported last.
        window_close: the window ends at the instant.
        period: the instant is a multiple of it; None: any instant.
    """

    content_change: bool = False
    non_empty: bool = False
    window_close: bool = False
    period: int | None = None

    def __post_init__(self) -> None:
        if self.period is not None and self.period < 1:
            msg = f"a report every {self.period} instants is not possible: use a period from 1"
            raise ValueError(msg)

    def __str__(self) -> str:
        named = {
            "content change": self.content_change,
            "non-empty": self.non_empty,
            "window close": self.window_close,
            f"every {self.period}": self.period is not None,
        }
        return " and ".join(name for name, is_set in named.items() if is_set) or "always"


@dataclass(frozen=True)
class Behaviour:
    """The parameters that do not depend on a window's size.

    Attributes:
        tick: when the engine wakes up.
        report: when a window is shown.
        pick: which one, for tuple windows.
        flush: whether open windows are reported at the end of the input.
        delay: how far the watermark stays behind the newest time; with `Tick.batch_end` only.
        lower_bound_closes: a tuple window of size 1 also counts as closed at its own lower bound:
            a rounding artefact of the simulator of the sources.
    """

    tick: Tick
    report: Report
    pick: Pick = Pick.largest
    flush: bool = False
    delay: int = 0
    lower_bound_closes: bool = False

    def __post_init__(self) -> None:
        if self.delay < 0:
            msg = f"a watermark's delay of {self.delay} is negative: use 0 or more"
            raise ValueError(msg)
        if self.delay and self.tick is not Tick.batch_end:
            msg = f"a watermark's delay goes with a batch-end tick, not with {self.tick}"
            raise ValueError(msg)
        if self.flush and not self.report.window_close:
            msg = "only an engine that reports closed windows can flush open ones at the end"
            raise ValueError(msg)


@dataclass(frozen=True)
class Windows:
    """The windows `(start + n * slide, start + n * slide + size]`, for n from 0.

    Attributes:
        slide: distance between the starts of consecutive windows, from 1; may exceed the size.
        start: exclusive lower bound of window 0; t0 or i0 in the sources.
    """

    domain: Domain
    size: int
    slide: int
    start: int

    def __post_init__(self) -> None:
        for name, length in (("size", self.size), ("slide", self.slide)):
            if length < 1:
                msg = f"a window's {name} of {length} is not positive: use an integer from 1"
                raise ValueError(msg)

    def low(self, instant: int) -> int | None:
        """Return the lower bound of the oldest window that is open at an instant (Scope).

        In a gap between windows the bound lies at the instant or after it. None: the instant is
        before every window.
        """
        if instant < self.start:
            return None
        beyond = instant - self.start - self.size
        return self.start + max(0, -(-beyond // self.slide)) * self.slide
