"""The picture of a tuning: lateness of records, and the benefit and latency of each slack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from jobs.tools.picture_file import save
from jobs.tools.times_in_words import in_words
from jobs.tools.tune import Cost, Tuning

_COLOURS = {"time": "#1f5f8b", "rows": "#d1495b", "punctuation": "#2a9d5c"}
_SECOND_US = 1_000_000


def draw(tuning: Tuning, name: str, png: Path) -> None:
    """Draw lateness, late records and missing records into a PNG file.

    Raises:
        PictureError, WriteError: of `jobs.tools.picture_file.save`.
    """
    save(picture(tuning, name), png, dpi=110)


def picture(tuning: Tuning, name: str) -> Figure:
    """Draw the three panels: lags, late records, missing records; mark the proposals."""
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    lags, late, missing = figure.subplots(1, 3)
    figure.suptitle(f"{name}: {tuning.records:,} records", x=0.01, ha="left", fontweight="bold")
    _lags(lags, tuning)
    _curve(late, tuning, "late")
    _curve(missing, tuning, "missing")
    for axes in (lags, late, missing):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#e5e5e5", linewidth=0.7)
    return figure


def _lags(axes: Any, tuning: Tuning) -> None:
    lags_s = tuning.lags_us / _SECOND_US
    beyond = 100 * (1 - np.arange(1, len(lags_s) + 1) / len(lags_s))
    axes.step(lags_s, beyond, where="post", color=_COLOURS["time"])
    for slack_us, (label, colour) in _proposals(tuning).items():
        text = f"{label}: {in_words(slack_us)}"
        axes.axvline(slack_us / _SECOND_US, color=colour, linestyle=":", label=text)
    axes.set_xscale("symlog", linthresh=max(lags_s[-1] / 1e4, 1e-6))
    axes.set_yscale("symlog", linthresh=max(100 / len(lags_s), 1e-6))
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_title("How far records are behind the newest", loc="left", fontsize=10)
    axes.set_xlabel("lag, s")
    axes.set_ylabel("records with a larger lag, %")
    axes.legend(frameon=False)


def _curve(axes: Any, tuning: Tuning, measure: str) -> None:
    for kind, label in (("time", "slack in time"), ("rows", "slack in rows")):
        points = _points([cost for cost in tuning.costs if cost.kind == kind], measure)
        axes.plot(*points, color=_COLOURS[kind], marker="o", markersize=3.5, label=label)
    for slack_us, (label, colour) in _proposals(tuning).items():
        cost = tuning.cost_of("time", slack_us)
        if cost.latency_us is not None:
            at = cost.latency_us / _SECOND_US, 100 * getattr(cost, measure)
            axes.plot(*at, color=colour, marker="D", markersize=7, linestyle="", label=label)
    (reference,) = (cost for cost in tuning.costs if cost.kind == "punctuation")
    if reference.latency_us is not None:
        axes.axvline(
            reference.latency_us / _SECOND_US,
            color=_COLOURS["punctuation"],
            linestyle=":",
            label="punctuation: nothing late",
        )
    titles = {"late": "Late records", "missing": "Missing in a window's first row, on average"}
    axes.set_title(titles[measure], loc="left", fontsize=10)
    axes.set_xlabel("mean latency of a window, s")
    # Logarithmic, like the search for the knee: each reduction to a tenth counts the same.
    axes.set_yscale("symlog", linthresh=max(float(100 * tuning.target), 100 / tuning.records))
    axes.set_ylim(bottom=0)
    axes.set_ylabel("%")
    axes.legend(frameon=False)


def _proposals(tuning: Tuning) -> dict[int, tuple[str, str]]:
    found = {tuning.slack_us: (f"{float(100 * tuning.target):g}% late", "#222222")}
    if tuning.knee_us is not None:
        found[tuning.knee_us] = ("knee", "#e08e00")
    return found


def _points(costs: list[Cost], measure: str) -> tuple[list[float], list[float]]:
    drawn = [cost for cost in costs if cost.latency_us is not None]
    latency_s = [(cost.latency_us or 0) / _SECOND_US for cost in drawn]
    return latency_s, [100 * getattr(cost, measure) for cost in drawn]
