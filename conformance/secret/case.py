"""A recorded run of the SECRET simulator, or of an engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from conformance.case_lines import read_rows


class InputCase(BaseModel):
    """A tuple of the input.

    Attributes:
        tsys, tid, tapp, bid: arrival, id, application time, batch.
        key: of products that window per key.
        wall_ms: when it was sent, for windows of processing time.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    tsys: int
    tid: int
    tapp: int
    bid: int
    key: str | None = None
    wall_ms: int | None = None


class WatermarkCase(BaseModel):
    """A watermark `wm`, sent after the tuple that arrived at `after_tsys`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    after_tsys: int
    wm: int


class ReportCase(BaseModel):
    """A report.

    Attributes:
        at: the instant, or the picked id; None: not printed.
        tsys: arrival of the tuple that caused it; None: not recorded.
        scope: the reported interval, `(low, high]`; None: not recorded.
        start, end: the window's bounds as a product printed them; None: not printed.
        key: of products that window per key.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    at: int | None
    tids: list[int]
    tsys: int | None = None
    scope: tuple[int, int] | None = None
    start: int | None = None
    end: int | None = None
    key: str | None = None


class Case(BaseModel):
    """A run as in the file.

    Attributes:
        window: `time`, `tuple`, or `session` (real engines only).
        size, slide: of the windows; a session's gap is its size.
        first_tapp: application time of the first tuple, for the start formulas.
        t0: the start that the simulator derived; None: a real engine.
        reports: in the order in which they appeared.
        engine_version: of a real engine; None: the simulator.
        watermarks, allowed_lateness, accumulation: of a real engine.
        emits: which of its reports a real engine kept; None: all.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    engine: str
    window: Literal["time", "tuple", "session"]
    size: PositiveInt
    slide: PositiveInt | None
    first_tapp: int
    t0: int | None = None
    input: list[InputCase]
    reports: list[ReportCase]
    engine_version: str | None = None
    watermarks: list[WatermarkCase] = Field(default_factory=list)
    allowed_lateness: int = 0
    accumulation: Literal["accumulating", "discarding"] | None = None
    emits: str | None = None
    note: str | None = None


def read_cases(path: Path) -> Iterator[Case]:
    """Read a file of cases.

    Raises:
        CaseError: the file cannot be read, or a line is not a case; with its number.
    """
    return read_rows(path, Case, "not a case of the SECRET model")
