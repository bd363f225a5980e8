"""Conformance to GSN's sliding manager: compare a graph with the recorded one, value by value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.gsn.case import GraphCase
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

    Args:
        case: the case.
        found: the plain graph and the optimised one, by the names of the file.
        steps: the plain graph after each step.
        judged_by: name of the driver in reports.
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


def _same(expected: Any, found: Any) -> bool:
    if isinstance(expected, float) and isinstance(found, float):
        return abs(expected - found) <= _TOLERANCE
    return bool(expected == found)
