"""The picture of a report on cuts: both engines, both cuts, and the windows that differ."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import dates
from matplotlib.figure import Figure

from chaos.contrast import Contrast, Pair, Place
from chaos.cuts.run import CutsReport

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _SECOND = "#1f5f8b", "#e08e2b"
_DIFFERS = "#d1495b"


def draw(report: CutsReport, png: Path) -> None:
    """Draw one key's windows: above on Spark's `window()`, below on our runtime.

    The key is the one with most differing windows on Spark; the figures in the titles count all.

    Args:
        report: what was found.
        png: the file to write.
    """
    query, key = _shown(report.spark)
    with mpl.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(11, 6.2))
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
            chosen = [p for p in found.pairs if (p.place.query, p.place.key) == (query, key)]
            _panel(panel, report, chosen)
        _frame(figure, panels, report, " ".join(map(str, json.loads(key))))
        figure.savefig(png, dpi=130, facecolor="white")


def _shown(spark: Contrast) -> tuple[str, str]:
    pairs = spark.differing or spark.pairs
    found = Counter((pair.place.query, pair.place.key) for pair in pairs)
    return max(found, key=lambda place: (found[place], place)) if found else ("", "[]")


def _panel(panel: Any, report: CutsReport, pairs: list[Pair]) -> None:
    draws = report.plan.draw
    styles = ({"color": _FIRST, "linewidth": 3.2}, {"color": _SECOND, "linewidth": 1.2})
    for rows, style, lines in zip(
        report.plan.cuts,
        styles,
        ([(p.place, p.before) for p in pairs], [(p.place, p.after) for p in pairs]),
        strict=True,
    ):
        points = list(_points(lines, draws))
        panel.plot(
            [at for at, _ in points],
            [value for _, value in points],
            label=f"batches of {rows} records",
            **style,
        )
    for pair in pairs:
        (_, low), (at, high) = _points([(pair.place, pair.before), (pair.place, pair.after)], draws)
        if pair.before != pair.after:
            ends = [value for value in (low, high) if value is not None]
            panel.plot([at] * len(ends), ends, color=_DIFFERS, linewidth=1.2, alpha=0.7)
            panel.plot([at] * len(ends), ends, "o", color=_DIFFERS, markersize=3)
    panel.grid(axis="y", color="#e5e5e5", linewidth=0.7)
    panel.set_axisbelow(True)


def _points(
    lines: list[tuple[Place, tuple[str, ...]]], draws: str
) -> Iterator[tuple[datetime, float | None]]:
    for place, revisions in lines:
        at = _EPOCH + timedelta(microseconds=place.end_us)
        yield at, json.loads(revisions[-1])["values"][draws] if revisions else None


def _frame(figure: Figure, panels: Any, report: CutsReport, key: str) -> None:
    bottom = panels[-1]
    bottom.xaxis.set_major_locator(dates.DayLocator(tz=UTC))
    bottom.xaxis.set_major_formatter(dates.DateFormatter("%a %d %b", tz=UTC))
    bottom.set_xlabel(f"end of the window (UTC); shown: {key}")
    label = report.plan.draw.replace("_", " ")
    figure.text(0.015, 0.45, label, rotation=90, va="center", color="#333333")
    figure.suptitle(
        "The same log, read twice, in batches of two sizes: is it the same result?",
        x=0.06,
        ha="left",
        fontsize=14,
    )
    handles, labels = bottom.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper right", ncols=2, bbox_to_anchor=(0.98, 0.945))
    figure.subplots_adjust(left=0.06, right=0.98, top=0.86, bottom=0.09, hspace=0.22)
