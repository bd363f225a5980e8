"""Time and row windows of an operator, by definition.

Window and key hold the records that are on time for the window, and from their release on the late
ones. Full is sent at the window's end if there is one on time, a late revision at every release.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from windowing.model.operator import AggregatorSpec, RowWindows, TimeWindows
from windowing.model.record import Bound, Record, WindowRow, null_first
from windowing.semantics.operators.log import Met, on_axis, release
from windowing.semantics.operators.rows import Window, shows


def windows_holding(windows: TimeWindows | RowWindows, at: int) -> list[tuple[int, int]]:
    """All `[origin + k·step, + size)` that hold a value; k is any integer, over rows 0, 1, …."""
    origin = windows.origin if isinstance(windows, TimeWindows) else 0
    k = (at - origin) // windows.step
    held = []
    while origin + k * windows.step + windows.size > at:
        start = origin + k * windows.step
        if isinstance(windows, TimeWindows) or k >= 0:
            held.append((start, start + windows.size))
        k -= 1
    return held


def rows_of(
    spec: AggregatorSpec, log: Iterable[Record | Bound]
) -> tuple[list[WindowRow], list[Record]]:
    """All full and late rows in their order, and the records that no window takes.

    Late records must go by epochs of progress; by the wall clock there is no such order.
    """
    assert isinstance(spec.windows, TimeWindows | RowWindows)  # noqa: S101 - sessions differ
    read = on_axis(spec, log)
    retention = spec.retention.length(spec.windows.step)
    contents: dict[Window, dict[int | None, list[Met]]] = defaultdict(lambda: defaultdict(list))
    refused = [met.record for met in read.refused]
    for met in read.met:
        holding = windows_holding(spec.windows, met.at)
        taken = 0
        for start, end in holding:
            window = start, end, met.record.key if spec.group else None
            late = met.before >= end
            past = retention is not None and met.before >= end + retention
            if late and (spec.late.policy != "update" or past):
                continue
            taken += 1
            contents[window][release(met.before, spec.late.every) if late else None].append(met)
        if holding and not taken:
            refused.append(met.record)
    sent = []
    for window, content in contents.items():
        for instant, late, rows in _revisions(spec, window, content):
            if instant <= read.progress:
                start, end, key = window
                sent.append(((instant, late, start, end, null_first(key)), rows))
    return [row for _, rows in sorted(sent, key=lambda s: s[0]) for row in rows], refused


def _revisions(
    spec: AggregatorSpec, window: Window, content: dict[int | None, list[Met]]
) -> Iterable[tuple[int, bool, list[WindowRow]]]:
    """All revisions of a window, each with its instant, sent or not."""
    known: list[Met] = []
    previous = None
    if content[None]:
        rows = shows(
            spec, window, pane="full", revision=0, content=content[None], known=(), previous=None
        )
        known, previous = list(content[None]), rows[-1]
        yield window[1], False, rows
    for revision, instant in enumerate(sorted(r for r in content if r is not None), start=1):
        held = known + content[instant]
        rows = shows(
            spec,
            window,
            pane="late",
            revision=revision,
            content=held,
            known=known,
            previous=previous,
        )
        known, previous = held, rows[-1]
        yield instant, True, rows
