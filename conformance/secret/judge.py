"""Conformance to SECRET: a profile's reports, or a product's output by its rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import zip_longest

from conformance.secret.case import Case, ReportCase
from conformance.wid.judge import Verdict
from windowing.research.engines import products
from windowing.research.engines.parameters import Domain, StreamTuple
from windowing.research.engines.products import Element, Firing
from windowing.research.engines.profiles import UnknownEngineError, profile_of
from windowing.research.engines.simulation import SimulatedReport, simulate

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
