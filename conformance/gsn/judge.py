"""Conformance to GSN's sliding manager: compare a graph with the recorded one, value by value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from conformance.gsn.case import GraphCase
from conformance.gsn.firings import FiringCase
from conformance.wid.judge import Verdict

_TOLERANCE = 1e-6
_MISSING = "nothing"


def judge(
    case: GraphCase,
    found: Mapping[str, Mapping[str, Any]],
    steps: Sequence[Mapping[str, Any]],
    judged_by: str,
) -> Verdict:
    """Compare what a driver found with what a case expects.

    `found` has the plain graph and the optimised one, by the names of the file; `steps`, the plain
    graph after each step.
    """
    wanted = [
        *((part, values) for part, values in case.expected.items()),
        *(
            (f"step {number}", step.model_dump(exclude={"op", "slide"}))
            for number, step in enumerate(case.steps)
        ),
    ]
    ours = [*(found[part] for part in case.expected), *steps]
    for (part, values), got in zip(wanted, ours, strict=True):
        for name, value in values.items():
            if not _same(value, got.get(name, _MISSING)):
                difference = f"{part}.{name}: expected {value}, got {got.get(name, _MISSING)}"
                return Verdict(case.id, judged_by, difference)
    return Verdict(case.id, judged_by, None)


def judge_firings(case: FiringCase, found: Mapping[str, Any], judged_by: str) -> Verdict:
    """Compare the runs that a driver found with those that a case expects, in their order.

    `found` has the runs, and what else the case expects, by the names of the file.
    """
    for name, value in case.expected.items():
        difference = _difference(name, value, found.get(name, _MISSING))
        if difference is not None:
            return Verdict(case.id, judged_by, difference)
    return Verdict(case.id, judged_by, None)


def _difference(name: str, expected: Any, found: Any) -> str | None:
    if isinstance(expected, list) and isinstance(found, list):
        pairs = zip_longest(expected, found, fillvalue=_MISSING)
        parts = [(f"{name}[{number}]", *pair) for number, pair in enumerate(pairs)]
    elif isinstance(expected, dict) and isinstance(found, dict):
        keys = dict.fromkeys([*expected, *found])
        parts = [(f"{name}.{k}", expected.get(k, _MISSING), found.get(k, _MISSING)) for k in keys]
    else:
        same = _same(expected, found)
        return None if same else f"{name}: expected {expected}, got {found}"
    differences = (_difference(*part) for part in parts)
    return next((one for one in differences if one is not None), None)


def _same(expected: Any, found: Any) -> bool:
    if isinstance(expected, float) and isinstance(found, float):
        return abs(expected - found) <= _TOLERANCE
    return bool(expected == found)
