"""The timeline of a run, as coordinates of a drawing: throughput, lag, progress, faults."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chaos.history import Entry, History

WIDTH, BAND, GAP = 960, 110, 34
"""Width of the drawing, height of a curve, and space between two curves, in pixels."""

_ENDED = 2**62
"""Progress beyond this means that a lane has ended; it does not fit a scale of event time."""


@dataclass(frozen=True)
class Curve:
    """One curve of the drawing.

    Attributes:
        top: top of its band, in pixels.
        points: points of an SVG polyline.
        highest: the value at the top of the band, as text.
    """

    title: str
    top: int
    points: str
    highest: str


@dataclass(frozen=True)
class Span:
    """A fault on the timeline.

    Attributes:
        x, width: from injection to recovery, in pixels.
    """

    name: str
    x: float
    width: float
    effective: bool
    recovered: bool
    label: str


@dataclass(frozen=True)
class Timeline:
    """The drawing.

    Attributes:
        spans: the faults, oldest first.
        ticks: pairs of seconds and x coordinate.
        height: height in pixels.
    """

    curves: tuple[Curve, ...]
    spans: tuple[Span, ...]
    ticks: tuple[tuple[int, float], ...]
    height: int


def timeline(history: History) -> Timeline:
    """Lay out a history as a drawing."""
    last_s = max((entry.at_s for entry in history.entries), default=1.0) or 1.0
    scale = WIDTH / last_s
    series = (
        ("throughput, records per second", throughput(history)),
        ("lag, records", lag(history)),
        ("progress, days of event time", progress_days(history)),
    )
    curves = tuple(
        _curve(title, points, GAP + number * (BAND + GAP), scale)
        for number, (title, points) in enumerate(series)
    )
    step_s = max(1, round(last_s / 12 / 5) * 5)
    ticks = tuple((second, second * scale) for second in range(0, int(last_s) + 1, step_s))
    height = GAP + len(series) * (BAND + GAP)
    return Timeline(curves, tuple(_spans(history, scale, last_s)), ticks, height)


def throughput(history: History) -> list[tuple[float, float]]:
    """Return the records per second of each batch, at the time of its commit."""
    points = []
    for before, after in pairwise(_commits(history)):
        took_s = after.at_s - before.at_s
        if took_s > 0:
            points.append((after.at_s, (after["offsets"] - before["offsets"]) / took_s))
    return points


def lag(history: History) -> list[tuple[float, float]]:
    """Return the number of uncommitted records in the topic, each time it changes."""
    sent = done = 0
    points = []
    for entry in _in_time(history.of("sent", "commit")):
        if entry.kind == "sent":
            sent = entry["total"]
        else:
            done = max(done, entry["offsets"])
        points.append((entry.at_s, float(max(0, sent - done))))
    return points


def progress_days(history: History) -> list[tuple[float, float]]:
    """Return the progress of the slowest lane since its first value, in days of event time."""
    lanes = {entry["lane"] for entry in history.of("progress")}
    reached: dict[str, int] = {}
    points: list[tuple[float, int]] = []
    for entry in sorted(history.of("progress"), key=lambda entry: int(entry["batch"])):
        us = entry["progress_us"]
        if us is None or us > _ENDED:
            continue
        reached[entry["lane"]] = us
        if reached.keys() == lanes:
            points.append((entry.at_s, min(reached.values())))
    if not points:
        return []
    first = points[0][1]
    return [(at_s, (us - first) / 86_400_000_000) for at_s, us in points]


def _commits(history: History) -> list[Entry]:
    return _in_time(history.of("commit"))


def _in_time(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: entry.at_s)


def _curve(title: str, points: Sequence[tuple[float, float]], top: int, scale: float) -> Curve:
    highest = max((value for _, value in points), default=0.0)
    unit = BAND / highest if highest > 0 else 0.0
    drawn = " ".join(f"{at_s * scale:.1f},{top + BAND - v * unit:.1f}" for at_s, v in points)
    return Curve(title, top, drawn, f"{highest:,.0f}" if highest >= 10 else f"{highest:.1f}")


def _spans(history: History, scale: float, last_s: float) -> Iterable[Span]:
    ends = {entry["fault"]: entry for entry in history.of("recovered")}
    failed = {entry["fault"] for entry in history.of("no_effect")}
    for entry in history.of("fault", "no_effect"):
        number = entry["fault"]
        if entry.kind == "no_effect" and any(e["fault"] == number for e in history.of("fault")):
            continue
        end = ends.get(number)
        until_s = end.at_s if end else last_s
        took = f"{until_s - entry.at_s:.0f} s" if end else "not recovered"
        yield Span(
            name=entry["name"],
            x=entry.at_s * scale,
            width=max(1.0, (until_s - entry.at_s) * scale),
            effective=number not in failed,
            recovered=end is not None,
            label=f"{number + 1}: {entry['name']}, {took}",
        )
