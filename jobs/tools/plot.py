"""A picture of an output: an aggregate by key over time, late revisions marked."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.figure import Figure

from jobs.tools.picture_file import save
from windowing.model import Pipeline
from windowing.model.lengths import spell_instant
from windowing.model.query import Flow

_LINE = "#1f5f8b"
_LATE = "#d1495b"
_KEYS_SHOWN = 12
_ENDS_SHOWN = 1_500
_STRETCHES = ("1w", "1d", "1h", "1m")
_EPOCH = datetime.fromtimestamp(0, UTC)
_LEAST_US, _MOST_US = -62_135_596_800_000_000, 253_402_300_799_999_999  # years 1 to 9999


class PlotError(ValueError):
    """An output, or an aggregate, of which there is nothing to draw."""

    exit_code = 2


@dataclass(frozen=True)
class PictureSummary:
    """What the picture shows.

    Attributes:
        value: the aggregate.
        start, end: the first and last end of a window, as people read them.
        windows: number of windows drawn, those of each key counted.
        revised: number of them that late records changed.
        left_out: number of windows that are not drawn: of other keys, or at other times.
    """

    value: str
    start: str
    end: str
    windows: int
    revised: int
    left_out: int


def plot(
    pipeline: Pipeline,
    query: Flow,
    rows: Iterable[Mapping[str, Any]],
    file: Path,
    value: str | None,
) -> PictureSummary:
    """Draw an aggregate of a query by key over the ends of its windows, late revisions marked.

    Each window is drawn once, from its final revision. Of many keys those with the most records are
    drawn; of a long time the week, day, hour or minute with the most revised windows.

    Args:
        rows: of a run, as the lines of OUT.jsonl have them; those of other queries are ignored.
        value: the name of an aggregate; None: the first with numbers, one that is no count if there
            is one.

    Raises:
        PlotError: there is no such aggregate, it has no numbers, or no window is final.
        PictureError, WriteError: of `jobs.tools.picture_file.save`.
    """
    final = [*map(_of_numbers(pipeline, query), final_windows(query, rows))]
    name = _chosen(query, final, value)
    windows = _frame(final, name)
    timed = _is_timed(pipeline, query)
    shown = _busiest(_of_most_records(windows), timed=timed)
    figure = _figure(shown, f"{pipeline.name}: {name} of {query.name}", name, timed=timed)
    save(figure, file, dpi=130)
    ends, spell = shown["end"].to_list(), spell_instant if timed else str
    revised = int(shown["revised"].sum())
    left_out = len(final) - shown.height
    return PictureSummary(name, spell(min(ends)), spell(max(ends)), len(ends), revised, left_out)


def _of_numbers(
    pipeline: Pipeline, query: Flow
) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """Return a function that gives a row with decimals, which it has as texts, as doubles."""
    types = query.value_types(pipeline.source.fields).items()
    decimals = {name for name, type_ in types if type_.kind == "decimal" and not type_.many}

    def numbered(row: Mapping[str, Any]) -> Mapping[str, Any]:
        found = {
            name: float(value) if name in decimals and value is not None else value
            for name, value in row["values"].items()
        }
        return {**row, "values": found}

    return numbered if decimals else lambda row: row


def final_windows(query: Flow, rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the last revision of each window and key that still stands.

    Raises:
        PlotError: a revision of this query holds only what came since the one before.
    """
    if query.accumulation == "discarding":
        msg = (
            f"query {query.name} has accumulation: discarding: each row holds only what came since "
            "the one before: draw another query"
        )
        raise PlotError(msg)
    last: dict[tuple[int, str], Mapping[str, Any]] = {}
    back: set[tuple[int, str, int]] = set()
    for row in rows:
        if row["query"] != query.name or row["pane"] == "early":
            continue
        place = (row["window_id"], json.dumps(row["key"]))
        if row.get("op") == "retract":
            back.add((*place, row["revision"]))
        elif place not in last or row["revision"] > last[place]["revision"]:
            last[place] = row
    return [
        row
        for place, row in last.items()
        if (*place, row["revision"]) not in back
        and row.get("absorbed_by") is None
        and not row.get("tombstone")
    ]


def _chosen(query: Flow, final: list[Mapping[str, Any]], value: str | None) -> str:
    if not final:
        msg = f"query {query.name} has no window yet to draw: `slackwater overview` says why"
        raise PlotError(msg)
    numeric = [name for name in query.shows if _has_numbers(final, name)]
    if value is None and numeric:
        counts = {one.name for one in query.aggregates if one.function == "count"}
        return next((name for name in numeric if name not in counts), numeric[0])
    if value is None or value not in numeric:
        named = f"--value {value}: " if value else ""
        msg = f"{named}what has numbers in query {query.name}: {', '.join(numeric) or 'nothing'}"
        raise PlotError(msg)
    return value


def _has_numbers(final: list[Mapping[str, Any]], name: str) -> bool:
    found = [row["values"][name] for row in final]
    return any(_number(value) is not None for value in found) and not any(
        isinstance(value, (bool, list, dict)) for value in found
    )


def _number(value: object) -> float | None:
    """Return a value as a line draws it; None: a gap."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def _frame(final: list[Mapping[str, Any]], name: str) -> pl.DataFrame:
    rows = [
        (
            ", ".join("–" if part is None else str(part) for part in row["key"]),
            row["window_end"],
            row["records"],
            _number(row["values"][name]),
            row["revision"] > 0,
        )
        for row in final
    ]
    types = {
        "key": pl.String,
        "end": pl.Int64,
        "records": pl.Int64,
        "value": pl.Float64,
        "revised": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=types, orient="row").sort("key", "end")


def _is_timed(pipeline: Pipeline, query: Flow) -> bool:
    """Whether the ends of windows are instants: not those of rows, or of another attribute."""
    window = query.window
    return window is None or window.attribute == pipeline.source.event_time.field


def _of_most_records(windows: pl.DataFrame) -> pl.DataFrame:
    by_key = Counter[str]()
    for key, records in windows.select("key", "records").iter_rows():
        by_key[key] += records
    return windows.filter(pl.col("key").is_in([key for key, _ in by_key.most_common(_KEYS_SHOWN)]))


def _busiest(windows: pl.DataFrame, *, timed: bool) -> pl.DataFrame:
    """Return as much as a line shows: the stretch with the most revised windows, the earliest."""
    ends = windows["end"].unique().sort()
    if len(ends) <= _ENDS_SHOWN:
        return windows
    if not timed or not _in_calendar(ends.to_numpy()):
        return windows.filter(pl.col("end") >= ends[-_ENDS_SHOWN])
    # A window belongs to the stretch in which its last instant lies.
    last = pl.from_epoch(pl.col("end") - 1, time_unit="us")
    for length in _STRETCHES:
        stretches = windows.with_columns(stretch=last.dt.truncate(length))
        about = stretches.group_by("stretch").agg(
            pl.col("end").n_unique().alias("ends"), pl.col("revised").sum()
        )
        if max(about["ends"].to_list()) <= _ENDS_SHOWN:
            break
    busiest = about.sort(["revised", "stretch"], descending=[True, False])["stretch"][0]
    return stretches.filter(stretch=busiest).drop("stretch")


def _figure(shown: pl.DataFrame, title: str, value: str, *, timed: bool) -> Figure:
    keys = shown["key"].unique().sort().to_list()
    revised = int(shown["revised"].sum())
    with mpl.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(11, 2.1 * len(keys) + 1.9), layout="constrained")
        panels = figure.subplots(len(keys), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for panel, key in zip(panels, keys, strict=True):
            _panel(panel, key, shown.filter(key=key), timed=timed)
        about = (
            f"A dot is a window whose result was sent again, because records due in it came after "
            f"it had closed: {revised:,} of {shown.height:,}."
        )
        figure.suptitle(f"{title}\n{about}", x=0.01, ha="left", fontsize=11)
        panels[len(panels) // 2].set_ylabel(value)
        panels[-1].set_xlabel("end of the window" + (" (UTC)" if timed else ""))
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower right", ncols=2, frameon=False)
    return figure


def _panel(panel: Any, key: str, rows: pl.DataFrame, *, timed: bool) -> None:
    ends, values = rows["end"].to_numpy(), rows["value"].to_numpy()
    steps = np.diff(ends)
    # Where windows are missing is a gap in the line.
    gaps = np.flatnonzero(steps > 1.5 * np.median(steps)) + 1 if len(steps) else np.arange(0)
    late = rows["revised"].to_numpy()
    panel.axhline(0, color="#999999", linewidth=0.8)
    panel.plot(
        _instants(np.insert(ends, gaps, ends[gaps]), timed=timed),
        np.insert(values, gaps, np.nan),
        color=_LINE,
        linewidth=1.3,
        marker=".",  # for windows between two gaps
        markersize=2.5,
        label="final revision",
    )
    panel.plot(
        _instants(ends[late], timed=timed),
        values[late],
        linestyle="none",
        marker="o",
        markersize=4,
        color=_LATE,
        label="revised by late records",
    )
    about = f"{len(ends):,} windows, {int(late.sum()):,} revised"
    panel.set_title(f"{key}   {about}" if key else about, loc="left", fontsize=10)
    panel.grid(axis="y", color="#e5e5e5", linewidth=0.7)
    panel.set_axisbelow(True)


def _instants(ends: Any, *, timed: bool) -> Any:
    if not timed or not _in_calendar(ends):
        return ends
    return [_EPOCH + timedelta(microseconds=int(end)) for end in ends]


def _in_calendar(ends: Any) -> bool:
    return not len(ends) or bool(ends.min() >= _LEAST_US and ends.max() <= _MOST_US)
