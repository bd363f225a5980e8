"""The report of a batch comparison: a self-contained page, its figure, and JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import matplotlib as mpl
from matplotlib import dates
from matplotlib.figure import Figure

from chaos.batch_comparison.run import CutsReport
from chaos.reports.pages import embedded, page, write_report
from chaos.verdict.contrast import Contrast, WindowPair

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _SECOND = "#1f5f8b", "#e08e2b"
_DIFFERS = "#d1495b"


def draw(report: CutsReport, png: Path) -> None:
    """Draw the windows of one key: Spark's `window()` above, our runtime below.

    It is the key with the most differing windows on Spark; the counts in the titles are of all.
    """
    query, key = _shown(report.spark)
    with mpl.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(11, 5.8))
        panels = figure.subplots(2, 1, sharex=True, sharey=True)
        titles = ("Spark's own window() and watermark", "Slackwater")
        for panel, title, found in zip(panels, titles, (report.spark, report.ours), strict=True):
            differing, every = len(found.differing), len(found.pairs)
            panel.set_title(
                f"{title}:  {differing:,} of {every:,} windows depend on the size of the batches",
                loc="left",
                fontsize=12,
                fontweight="bold",
                color=_DIFFERS if differing else "#2b7a4b",
            )
            drawn = [p for p in found.pairs if (p.place.query, p.place.key) == (query, key)]
            _panel(panel, report, drawn)
        _frame(figure, panels, report, " ".join(map(str, json.loads(key))))
        figure.savefig(png, dpi=130, facecolor="white")


def _shown(spark: Contrast) -> tuple[str, str]:
    pairs = spark.differing or spark.pairs
    found = Counter((pair.place.query, pair.place.key) for pair in pairs)
    return max(found, key=lambda place: (found[place], place)) if found else ("", "[]")


def _panel(panel: Any, report: CutsReport, pairs: list[WindowPair]) -> None:
    points = list(_points(pairs, report.plan.draw))
    times = [at for at, _, _ in points]
    first, second = report.plan.cuts
    panel.plot(
        times, [p[1] for p in points], color=_FIRST, linewidth=2.8, label=f"batches of {first}"
    )
    panel.plot(
        times, [p[2] for p in points], color=_SECOND, linewidth=1.0, label=f"batches of {second}"
    )
    for at, *values in points:
        if values[0] != values[1]:
            ends = [value for value in values if value is not None]
            panel.plot([at] * len(ends), ends, "o-", color=_DIFFERS, linewidth=1, markersize=3)
    panel.grid(axis="y", color="#e5e5e5", linewidth=0.7)
    panel.set_axisbelow(True)


def _points(
    pairs: list[WindowPair], draws: str
) -> Iterator[tuple[datetime, float | None, float | None]]:
    before_us = None
    for pair in pairs:
        if before_us is not None and pair.place.start_us > before_us:
            # A pause without records (the night) is a gap in the line, not a bridge over it.
            yield _time(before_us), None, None
        before_us = pair.place.end_us
        yield _time(before_us), _value(pair.before, draws), _value(pair.after, draws)


def _time(us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=us)


def _value(revisions: tuple[str, ...], draws: str) -> float | None:
    value: float | None = json.loads(revisions[-1])["values"][draws] if revisions else None
    return value


def _frame(figure: Figure, panels: Any, report: CutsReport, key: str) -> None:
    bottom = panels[-1]
    locator, formatter = cast("Any", dates.AutoDateLocator), cast("Any", dates.DateFormatter)
    bottom.xaxis.set_major_locator(locator(tz=UTC))
    bottom.xaxis.set_major_formatter(formatter("%a %d %b", tz=UTC))
    bottom.set_xlabel(f"end of the window (UTC); shown: {key}")
    label = report.plan.draw.replace("_", " ")
    figure.text(0.012, 0.47, label, rotation=90, va="center", color="#333333")
    figure.suptitle(
        "One log, read in batches of two sizes: is it the same result?",
        x=0.06,
        ha="left",
        fontsize=14,
    )
    handles, labels = bottom.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper right", ncols=2, bbox_to_anchor=(0.985, 0.995))
    figure.subplots_adjust(left=0.06, right=0.98, top=0.88, bottom=0.09, hspace=0.22)


def write_cuts(report: CutsReport, folder: Path) -> Path:
    """Write `report.html`, `report.json` and `cuts.png`; return the page's path."""
    png = folder / "cuts.png"
    draw(report, png)
    html = page("cuts.html.j2", report=report, picture=embedded(png))
    return write_report(folder, "report", as_data(report), html)


def as_data(report: CutsReport) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "plan": report.plan.model_dump(mode="json"),
        "command": report.command,
        "records": report.records,
        "outcome": report.outcome,
        "checks": [asdict(check) for check in report.checks],
        "spark": report.spark.as_data(),
        "slackwater": report.ours.as_data(),
    }
