"""The pictures of the experiments on sliding managers."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Final

from matplotlib.figure import Figure

from benchmarks.slides_measured import (
    OPTIMISED,
    PLAIN,
    SLIDES_MS,
    Accuracy,
    Cell,
    Size,
    SlideCounts,
    ratios,
)

_COLOURS: Final = {
    "graph": "#1f5f8b",
    OPTIMISED: "#7fb2d6",
    "heap": "#b08900",
    "wheel": "#2a9d5c",
    "calendar": "#d1495b",
}
_TREES: Final = (("#1f5f8b", 1.5), ("#e9a3ac", 4.0), ("#d1495b", 1.2))
# What the paper reports for 5,000 to 10,000 queries.
_IN_THE_PAPER: Final = (3.0, 3.7)


def speeds(cells: Sequence[Cell]) -> Figure:
    """Return speed against the number of queries, a panel for each range of slides."""
    ranges = sorted({cell.size.largest for cell in cells})
    figure = Figure(figsize=(4 * len(ranges), 4.8), layout="constrained")
    panels = figure.subplots(1, len(ranges), sharey=True, squeeze=False)[0]
    for axes, largest in zip(panels, ranges, strict=True):
        here = [cell for cell in cells if cell.size.largest == largest]
        queries = [cell.size.queries for cell in here]
        _drawn(axes, f"slides in 2..{largest:,}")
        for way, colour in _COLOURS.items():
            checks = [statistics.median(ratios(cell.checks, way)) for cell in here]
            ids = [statistics.median(ratios(cell.ids, way)) for cell in here]
            axes.plot(queries, checks, "o-", color=colour, markersize=4, label=way)
            axes.plot(queries, ids, ":", color=colour)
        axes.axhline(1, color="#888888", linewidth=1)
        if largest > min(ranges):
            least, most = _IN_THE_PAPER
            axes.fill_between(
                [5_000, 10_000],
                least,
                most,
                color="#222222",
                alpha=0.35,
                label="graph in the paper",
            )
        axes.set_yscale("log")
        axes.set_xlabel("queries")
    panels[0].set_ylabel(f"speed as a multiple of {PLAIN}; dotted: ids as well")
    panels[0].legend(
        *panels[-1].get_legend_handles_labels(), frameon=False, fontsize=9, loc="upper left"
    )
    return figure


def operations(found: Mapping[Size, tuple[float, Mapping[str, SlideCounts]]]) -> Figure:
    """Return operations per tuple against the number of queries, a panel for each range."""
    ranges = sorted({size.largest for size in found})
    figure = Figure(figsize=(4 * len(ranges), 4.8), layout="constrained")
    panels = figure.subplots(1, len(ranges), squeeze=False)[0]
    for axes, largest in zip(panels, ranges, strict=True):
        here = {size.queries: each for size, each in found.items() if size.largest == largest}
        _drawn(axes, f"slides in 2..{largest:,}")
        axes.plot([*here], [plain for plain, _ in here.values()], color="#888888", label=PLAIN)
        names = next(iter(here.values()))[1]
        # The last two are often the same: the one below is wider.
        for name, (colour, width) in zip(names, _TREES, strict=True):
            tests = [trees[name].tests for _, trees in here.values()]
            cost = [trees[name].cost for _, trees in here.values()]
            axes.plot([*here], cost, color=colour, linewidth=width, label=name)
            axes.plot([*here], tests, ":", color=colour, linewidth=width)
        axes.set_yscale("log")
        axes.set_xlabel("queries")
    panels[0].set_ylabel("operations per tuple; dotted: tests alone")
    panels[0].legend(frameon=False, fontsize=9)
    return figure


def errors(found: Mapping[str, Sequence[Accuracy]]) -> Figure:
    """Return the mean distance of intervals from the slide, bars by what begins runs."""
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    _drawn(axes, "Intervals between runs: mean distance from the slide", log=False)
    width = 0.8 / len(SLIDES_MS)
    for number, slide_ms in enumerate(SLIDES_MS):
        places = [place + number * width for place in range(len(found))]
        heights = [pair[number].error_s for pair in found.values()]
        colour = ("#1f5f8b", "#d1495b")[number]
        bars = axes.bar(places, heights, width, color=colour, label=f"{slide_ms // 60_000} min")
        axes.bar_label(bars, fmt="%.0f", fontsize=8)
    axes.set_xticks([place + width / 2 for place in range(len(found))], [*found], fontsize=8)
    axes.set_ylabel("s")
    axes.legend(frameon=False, title="slide")
    return figure


def _drawn(axes: Any, title: str, *, log: bool = True) -> None:
    axes.set_title(title, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e5e5e5", linewidth=0.7)
    axes.set_axisbelow(True)
    if log:
        axes.set_xscale("log")
