"""What a row of an operator shows: the window's aggregate, and what accumulation leaves of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from windowing.model.operator import AggregatorSpec
from windowing.model.record import Value, WindowRow, lane_order
from windowing.semantics.operators.log import Met

Window = tuple[int, int, str | None]
"""Start, end and key."""


def aggregate(name: str, met: Sequence[Met]) -> Value:
    """An aggregate over records, by its plain meaning."""
    values = [one.record.value for one in sorted(met, key=lambda one: one.place)]
    if name == "collect":
        return values
    if name in ("count", "sum"):
        return len(values) if name == "count" else sum(values)
    if not values:
        return None
    if name in ("first", "last"):
        return values[0] if name == "first" else values[-1]
    if name in ("min", "max"):
        return min(values) if name == "min" else max(values)
    middle = sorted(values)[(len(values) - 1) // 2 : len(values) // 2 + 1]
    median = Fraction(sum(middle), len(middle))
    return int(median) if median.denominator == 1 else float(median)


def shows(
    spec: AggregatorSpec,
    window: Window,
    *,
    pane: Literal["full", "late"],
    revision: int,
    content: Sequence[Met],
    known: Sequence[Met],
    previous: WindowRow | None,
) -> list[WindowRow]:
    """The rows that one revision sends.

    Args:
        spec: aggregate and accumulation.
        window: which window.
        pane: full or late.
        revision: the row's number.
        content: all that the window holds.
        known: what its row before held.
        previous: its row before, if any.
    """
    discarding = spec.accumulation == "discarding"
    shown = [one for one in content if not (discarding and one in known)]
    offsets: dict[str, tuple[int, int]] = {}
    for lane in sorted({one.record.lane for one in shown}, key=lane_order):
        held = [one.record.offset for one in shown if one.record.lane == lane]
        offsets[lane] = min(held), max(held)
    start, end, key = window
    value = aggregate(spec.aggregate, shown)
    row = WindowRow(start, end, key, pane, revision, len(shown), value, offsets)
    if spec.accumulation == "retracting" and previous is not None:
        return [replace(previous, retracts=True), row]
    return [row]
