"""A picture of the output: one week of delays, with the windows that late flights changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import matplotlib as mpl
import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from matplotlib import dates
from matplotlib.figure import Figure

from jobs.tools.picture_file import save
from windowing.files.places import place
from windowing.files.table_rows import rows_in

QUERY = "hourly"
_WEEK = timedelta(days=7)
_LINE = "#1f5f8b"
_LATE = "#d1495b"
_COLUMNS = ["window_start", "window_end", "key", "revision", "values"]


class PlotError(RuntimeError):
    """An output without anything to draw."""

    exit_code = 1


@dataclass(frozen=True)
class PictureSummary:
    """A summary of the picture.

    Attributes:
        start: first instant of the week, UTC.
        windows: number of windows drawn.
        revised: number of them that late records changed.
    """

    start: datetime
    windows: int
    revised: int


def plot(
    table_dir: str | Path, run: str, png: str | Path, *, start: datetime | None = None
) -> PictureSummary:
    """Draw one week of mean departure delays per origin, late revisions marked.

    Each window is drawn once, from its final revision; a window with later revisions is marked.

    Args:
        table_dir: folder of the output tables; the query `hourly` has its own folder in it.
        start: first instant of the week, UTC; default: the week, from a Monday, with the most
            revised windows.

    Raises:
        PlotError: the table is missing, or has no rows of that run or that week.
        PictureError, WriteError: of `jobs.tools.picture_file.save`.
    """
    windows = _final(_read(place(table_dir) / QUERY, run))
    begin = start or _busiest_week(windows)
    week = windows.filter((pl.col("end") > begin) & (pl.col("end") <= begin + _WEEK))
    if week.is_empty():
        message = f"run {run!r} has no window between {begin:%Y-%m-%d} and a week later"
        raise PlotError(message)
    figure = _figure(week, begin)
    save(figure, Path(png), dpi=130)
    return PictureSummary(begin, week.height, int(week["revised"].sum()))


def _read(table: Path, run: str) -> pl.DataFrame:
    try:
        rows = rows_in(DeltaTable(str(table)), columns=_COLUMNS, run=run)
    except (DeltaError, OSError) as error:
        message = f"no output table at {table} ({type(error).__name__}): has the pipeline run?"
        raise PlotError(message) from error
    if rows.num_rows == 0:
        message = f"the table {table} has no rows of run {run!r}"
        raise PlotError(message)
    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)  # noqa: S101 - tells the type checker, cannot fail
    return frame


def _final(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per window: its final revision, and whether late records changed it."""
    return (
        rows.select(
            origin=pl.col("key").struct.field("origin"),
            begin=pl.col("window_start"),
            end=pl.col("window_end"),
            revision=pl.col("revision"),
            delay=pl.col("values").struct.field("mean_delay"),
        )
        .sort("revision")
        .group_by("origin", "begin", "end")
        .last()
        .with_columns(revised=pl.col("revision") > 0)
        .sort("origin", "end")
    )


def _busiest_week(windows: pl.DataFrame) -> datetime:
    """Return the Monday of the week with the most revised windows, the earliest of equals."""
    weeks = (
        windows.group_by(week=pl.col("begin").dt.truncate("1w"))
        .agg(pl.col("revised").sum())
        .sort(["revised", "week"], descending=[True, False])
    )
    found: datetime = weeks["week"][0]
    return found.astimezone(UTC)


def _figure(week: pl.DataFrame, begin: datetime) -> Figure:
    origins = week["origin"].unique().sort().to_list()
    with mpl.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(11, 2.1 * len(origins) + 1.9))
        panels = figure.subplots(len(origins), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for panel, origin in zip(panels, origins, strict=True):
            _panel(panel, origin, week.filter(origin=origin))
        _frame(figure, panels, week, begin)
    return figure


def _panel(panel: Any, origin: str, rows: pl.DataFrame) -> None:
    # A pause without flights (at night) is a gap in the line.
    slide = rows["end"].diff().min()
    full = rows.upsample("end", every=slide) if isinstance(slide, timedelta) else rows
    panel.axhline(0, color="#999999", linewidth=0.8)
    panel.fill_between(full["end"], full["delay"], color=_LINE, alpha=0.15, linewidth=0)
    panel.plot(full["end"], full["delay"], color=_LINE, linewidth=1.3, label="final revision")
    late = rows.filter("revised")
    panel.plot(
        late["end"],
        late["delay"],
        linestyle="none",
        marker="o",
        markersize=4,
        color=_LATE,
        label="window revised by late flights",
    )
    panel.set_title(
        f"{origin}   {rows.height:,} windows, {late.height:,} revised", loc="left", fontsize=10
    )
    panel.grid(axis="y", color="#e5e5e5", linewidth=0.7)
    panel.set_axisbelow(True)


def _frame(figure: Figure, panels: Any, week: pl.DataFrame, begin: datetime) -> None:
    last = begin + _WEEK
    bottom = panels[-1]
    bottom.set_xlim(begin, last)
    bottom.xaxis.set_major_locator(dates.DayLocator(tz=UTC))
    bottom.xaxis.set_major_formatter(dates.DateFormatter("%a %d %b", tz=UTC))
    bottom.xaxis.set_minor_locator(dates.HourLocator(byhour=[6, 12, 18], tz=UTC))
    bottom.set_xlabel("end of the window (UTC)")
    panels[len(panels) // 2].set_ylabel("mean departure delay in the hour before (minutes)")
    figure.suptitle(
        "How late did flights leave New York? Mean delay per hour, every ten minutes",
        x=0.07,
        ha="left",
        fontsize=14,
        fontweight="bold",
    )
    figure.text(
        0.07,
        0.925,
        f"Week of {begin:%d %B %Y}. A dot is a window whose result was sent again, because flights "
        f"due in it left after it had closed: {int(week['revised'].sum()):,} of {week.height:,}.",
        color="#555555",
    )
    handles, labels = bottom.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="upper right", bbox_to_anchor=(0.96, 0.9), ncols=2, frameon=False
    )
    figure.subplots_adjust(left=0.07, right=0.95, top=0.83, bottom=0.08, hspace=0.35)
