"""Recorded runs of the SECRET simulator and of real engines, judged by our models of these.

A run of the simulator is compared with a profile's reports, a product's output with its rules.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from conformance.cases import Driver, NotExpressible, OnRefusal, Verdict, read_rows, stop
from windowing.research.engines import products
from windowing.research.engines.parameters import Domain, StreamTuple
from windowing.research.engines.products import Element, Firing
from windowing.research.engines.profiles import UnknownEngineError, profile_of
from windowing.research.engines.simulation import SimulatedReport, simulate


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


def read_cases(path: Path, refused: OnRefusal = stop) -> Iterator[Case]:
    """Read a file of cases; see `read_rows`."""
    return read_rows(path, Case, "not a case of the SECRET model", refused)


_RECEIVING_MS = 200
"""The longest time that a DStream's receiver took, in milliseconds."""


def judge(case: Case, judged_by: str) -> Verdict:
    """Compare start and reports of a run of the simulator with those of our model."""
    return Verdict(case.id, judged_by, _difference(case))


def _difference(case: Case) -> str | None:
    if case.window == "session" or case.slide is None:
        return "the simulator has no session windows"
    domain = Domain(case.window)
    try:
        profile = profile_of(case.engine)
        behaviour = profile.operator(domain).behaviour
        windows = profile.windows(domain, case.size, case.slide, case.first_tapp)
    except UnknownEngineError as error:
        return str(error)
    if case.t0 is not None and windows.start != case.t0:
        return f"start: expected {case.t0}, got {windows.start}"
    stream = [StreamTuple(one.tsys, one.tid, one.tapp, one.bid) for one in case.input]
    pairs = zip_longest(case.reports, simulate(behaviour, windows, stream))
    for number, (expected, found) in enumerate(pairs):
        wanted = None if expected is None else _spelled_case(expected)
        got = None if found is None else _spelled(found)
        if wanted != got:
            return f"report {number}: expected {wanted or 'none'}, got {got or 'none'}"
    return None


def _spelled_case(report: ReportCase) -> str:
    low = None if report.scope is None else report.scope[0]
    return f"{report.tids} at {report.at} by {report.tsys} above {low}"


def _spelled(report: SimulatedReport) -> str:
    return f"{[*report.content]} at {report.instant} by {report.arrival} above {report.low}"


def judge_product(case: Case, judged_by: str) -> Verdict | None:
    """Compare a product's output with its rules; None: no rules are known.

    Products send the windows of different keys in no fixed order, so that each key is compared by
    itself; where only final values were kept, their order is not compared.
    """
    if case.engine == "Spark16":
        return Verdict(case.id, judged_by, _received_differently(case))
    found = _fired(case)
    if found is None:
        return None
    expected = [Firing(one.start, one.end, tuple(one.tids), one.key) for one in case.reports]
    if case.emits is not None and not case.emits.startswith("every"):
        newest = {(one.start, one.end, one.key): one for one in found}
        found = [one for one in newest.values() if one.content]
        return Verdict(case.id, judged_by, _other_values(found, expected))
    return Verdict(case.id, judged_by, _other_order(found, expected))


def _fired(case: Case) -> list[Firing] | None:
    """Return what a product sends by its rules; None: no rules are known."""
    keyed = any(report.key is not None for report in case.reports)
    marks = {one.after_tsys: one.wm for one in case.watermarks}
    elements = [
        Element(one.tid, one.tapp, one.key if keyed else None, marks.get(one.tsys))
        for one in case.input
    ]
    size, slide, lateness = case.size, case.slide or case.size, case.allowed_lateness
    match case.engine, case.window:
        case "Flink", "time":
            return [*products.flink_windows(elements, size, slide, lateness)]
        case "Flink", "tuple":
            return [*products.flink_counts(elements, size, slide)]
        case "Flink", "session":
            return [*products.flink_sessions(elements, size, lateness)]
        case "KafkaStreams", "time":
            return [*products.kafka_windows(elements, size, slide)]
        case "KafkaStreams", "session":
            return [*products.kafka_sessions(elements, size)]
        case "Beam", "time":
            whole = case.accumulation == "accumulating"
            return [*products.beam_windows(elements, size, slide, lateness, accumulating=whole)]
        case _:
            return None


def _other_values(found: Sequence[Firing], expected: Sequence[Firing]) -> str | None:
    missing, extra = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
    if not missing and not extra:
        return None
    return f"missing {next(iter(missing), None)}, extra {next(iter(extra), None)}"


def _other_order(found: Sequence[Firing], expected: Sequence[Firing]) -> str | None:
    difference = _other_values(found, expected)
    if difference is not None:
        return difference
    of_key: dict[str | None, list[Firing]] = defaultdict(list)
    for one in found:
        of_key[one.key].append(one)
    for number, one in enumerate(expected):
        ours = of_key[one.key].pop(0)
        if ours != one:
            return f"report {number}: expected {one}, got {ours}"
    return None


def _received_differently(case: Case) -> str | None:
    """Return the first tuple that no time of receipt puts into the reports that hold it.

    A DStream's window at T holds what was received in `(T - size, T]`; reports are one slide apart.
    """
    times = [report.at or 0 for report in case.reports]
    size_ms, slide_ms = case.size * 1000, (case.slide or case.size) * 1000
    if times != [times[0] + number * slide_ms for number in range(len(times))]:
        return f"reports are not {slide_ms} ms apart"
    for one in case.input:
        holding = [
            time for time, report in zip(times, case.reports, strict=True) if one.tid in report.tids
        ]
        sent = one.wall_ms or 0
        received = range(sent, sent + _RECEIVING_MS + 1)
        if not any(
            holding == [time for time in times if time - size_ms < at <= time] for at in received
        ):
            return f"tuple {one.tid}, sent at {sent}, is reported at {holding}"
    return None


def _run(case: Case) -> list[Verdict] | NotExpressible:
    if case.engine_version is None:
        return [judge(case, MODEL.name)]
    found = judge_product(case, "products")
    if found is None:
        return NotExpressible(
            f"no rules are known of {case.window} windows in {case.engine_version}"
        )
    return [found]


MODEL = Driver("secret", _run)
"""SECRET with the profile of the case's engine, or the rules of a product."""
