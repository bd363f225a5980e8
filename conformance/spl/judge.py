"""Conformance to policy windows: compare a driver's log with the recorded one.

A row holds under one profile or both; each profile is judged separately. Where a row leaves the
order between partitions open, only the order within each partition is compared.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from conformance.spl.case import Logged, OperatorCase, WindowCase
from conformance.wid.judge import Verdict
from windowing.model.windows.policy import PolicyError

Final = dict[str, list[int]]
DriveWindow = Callable[[WindowCase, str], tuple[Sequence[Logged], Final]]
DriveOperator = Callable[[OperatorCase, str], Sequence[Logged]]

_RELATIVE = 1e-6


def judge_window(case: WindowCase, drive: DriveWindow, judged_by: str) -> list[Verdict]:
    """Judge a scenario of a window, once for each profile under which it holds.

    `drive` runs it under a profile; it returns the events, and the tuples stored at the end.
    """
    return _by_profile(case, lambda profile: _window_difference(case, drive, profile), judged_by)


def judge_operator(case: OperatorCase, drive: DriveOperator, judged_by: str) -> list[Verdict]:
    """Judge a scenario of an operator, once for each profile under which it holds."""
    return _by_profile(case, lambda profile: _operator_difference(case, drive, profile), judged_by)


def first_failed(ways: Iterable[list[Verdict]]) -> list[Verdict]:
    """Return the verdicts of the first way that shows a difference; of none: those of the first."""
    passed = []
    for verdicts in ways:
        if any(one.difference is not None for one in verdicts):
            return verdicts
        passed.append(verdicts)
    return passed[0]


def _by_profile(
    case: WindowCase | OperatorCase, difference: Callable[[str], str | None], judged_by: str
) -> list[Verdict]:
    found = [(profile, difference(profile)) for profile in case.profiles]
    return [
        Verdict(case.id, f"{judged_by}, {profile}", None if case.informative else one)
        for profile, one in found
    ]


def _window_difference(case: WindowCase, drive: DriveWindow, profile: str) -> str | None:
    try:
        events, final = drive(case, profile)
    except PolicyError as refused:
        return None if case.construct_error else f"the window is refused: {refused}"
    if case.construct_error:
        return f"expected that the window is refused ({case.construct_error}), got one"
    expected = [_without_text(event) for event in case.expected]
    difference = _first(expected, events, _window_groups(case))
    if difference is None and case.final is not None and case.final != final:
        difference = f"stored at the end: expected {case.final}, got {final}"
    return difference


def _without_text(event: Logged) -> Logged:
    """Drop the message of an exception, which is the library's."""
    if event["event"] != "exception":
        return event
    return {name: event[name] for name in ("step", "event", "t") if name in event}


def _operator_difference(case: OperatorCase, drive: DriveOperator, profile: str) -> str | None:
    try:
        sent = drive(case, profile)
    except PolicyError as refused:
        return f"the operator is refused: {refused}"
    unordered = any(tag.endswith("_unspecified") for tag in case.tags)
    return _first(case.expected, sent, _by_step, as_sets=unordered)


def _window_groups(case: WindowCase) -> Callable[[Logged], tuple[Any, ...]]:
    if not case.cross_partition_order_unspecified:
        return _by_step
    return lambda event: (event["step"], str(event.get("partition")), str(event.get("pane")))


def _by_step(event: Logged) -> tuple[Any, ...]:
    return (event["step"],)


def _first(
    expected: Iterable[Logged],
    found: Iterable[Logged],
    group: Callable[[Logged], tuple[Any, ...]],
    *,
    as_sets: bool = False,
) -> str | None:
    wanted, got = _grouped(expected, group), _grouped(found, group)
    for place in sorted({*wanted, *got}, key=lambda place: (place[0], str(place[1:]))):
        left, right = wanted.get(place, []), got.get(place, [])
        if as_sets:
            left, right = sorted(left, key=_spelled), sorted(right, key=_spelled)
        for number in range(max(len(left), len(right))):
            one = left[number] if number < len(left) else None
            other = right[number] if number < len(right) else None
            if not _same(one, other):
                return f"step {place[0]}: expected {_spelled(one)}, got {_spelled(other)}"
    return None


def _grouped(
    events: Iterable[Logged], group: Callable[[Logged], tuple[Any, ...]]
) -> dict[tuple[Any, ...], list[Logged]]:
    groups: dict[tuple[Any, ...], list[Logged]] = {}
    for event in events:
        groups.setdefault(group(event), []).append(event)
    return groups


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        numbers = isinstance(one, int | float) and isinstance(other, int | float)
        return numbers and math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_RELATIVE)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _spelled(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
