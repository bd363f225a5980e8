"""A picture of the first windows of each query on a time line."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jobs.tools.picture_file import PictureError, format_of, save
from windowing.explain.pipeline import title
from windowing.explain.words import context_of, speller
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.windows.by_record import example_step

_SHOWN, _MOST = 6, 24
_BAR, _RECORD = "#1f5f8b", "#d1495b"
_WIDTH, _TITLE_HEIGHT, _BAR_HEIGHT = 9.0, 0.9, 0.28


def draw_windows(pipeline: Pipeline, path: Path) -> None:
    """Draw the first windows of every query, one below the other, each on its own scale.

    Args:
        path: the file to write, PNG or SVG by its suffix.

    Raises:
        PictureError: another suffix, or nothing to draw.
        WriteError: the file cannot be written.
    """
    format_of(path)
    pictured = [query for query in pipeline.of(Query) if query.window.traits.pictured]
    queries = pictured
    if len(queries) > _MOST:
        # Each window once, and no more than a page holds.
        queries = list({query.window: query for query in reversed(pictured)}.values())[:-_MOST:-1]
    if not queries:
        msg = f"{pipeline.name} has no windows to draw: sessions, pairs and policies go by records"
        raise PictureError(msg)
    height = len(queries) * (_TITLE_HEIGHT + _SHOWN * _BAR_HEIGHT)
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    panels = figure.subplots(len(queries), squeeze=False)[:, 0]
    for axes, query in zip(panels, queries, strict=True):
        _draw(axes, query, pipeline)
    with mpl.rc_context({"svg.hashsalt": pipeline.name}):
        save(figure, path, dpi=120)


def _draw(axes: Axes, query: Query, pipeline: Pipeline) -> None:
    window, spell = query.window, speller(query.attribute, pipeline.source)
    at_records = window.traits.at_records
    extents = window.first_extents(_SHOWN)
    for row, extent in enumerate(extents):
        axes.barh(row, extent.end - extent.start, left=extent.start, height=0.7, color=_BAR)
    # Instants count from the origin, except those of windows at records.
    ticks = sorted({extent.start for extent in extents} | {extent.end for extent in extents})
    axes.set_xticks(ticks, [spell(tick) for tick in ticks], rotation=45, ha="right", fontsize=7)
    names = [spell(extent.wid) if at_records else str(extent.wid) for extent in extents]
    axes.set_yticks(range(_SHOWN), names)
    if at_records:
        step = example_step(window.range_ or 1)
        records = range(step, extents[-1].end + 1, step)
        axes.plot(records, [-1] * len(records), "o", color=_RECORD, markersize=4, clip_on=False)
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    origin = f", from {spell(window.origin)} on" if window.origin and not at_records else ""
    head = f"{query.name} ({context_of(window).name}): {title(query, pipeline.source)}{origin}"
    axes.set_title(head, loc="left", fontsize=9)
    axes.set_ylabel("ends at" if at_records else "window")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
