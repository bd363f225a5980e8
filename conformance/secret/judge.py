"""Conformance to SECRET: compare the reports of a profile with the recorded ones."""

from __future__ import annotations

from itertools import zip_longest

from conformance.secret.case import Case, ReportCase
from conformance.wid.judge import Verdict
from windowing.research.engines.parameters import Domain, StreamTuple
from windowing.research.engines.profiles import UnknownEngineError, profile_of
from windowing.research.engines.simulation import Reported, simulate


def judge(case: Case, judged_by: str) -> Verdict:
    """Compare start and reports of a run of the simulator with those of our model."""
    return Verdict(case.id, judged_by, _difference(case))


def _difference(case: Case) -> str | None:
    """Return the first difference between the model and a recorded run."""
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


def _spelled(report: Reported) -> str:
    return f"{[*report.content]} at {report.instant} by {report.arrival} above {report.low}"
