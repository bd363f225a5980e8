"""The three experiments of Li et al., SIGMOD 2005: cost of overlap, and of disorder.

Writes tables and figures into `benchmarks/wid.md` and pictures into `docs/`.

    .venv/bin/python -m benchmarks.wid              all three
    .venv/bin/python -m benchmarks.wid --only 1 --rows 100000 --dry
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, cast

import typer
from matplotlib.figure import Figure
from rich.progress import track

from benchmarks.figures import ROOT, machine, machine_line, markdown, replace_block
from benchmarks.wid_disorder import (
    SECOND_US,
    Point,
    Stream,
    Windows,
    average_error,
    block_sorted,
    bounded_disorder,
    incorrect,
    last_of_blocks,
    measure,
    ordered,
)
from benchmarks.wid_plans import MAX_SPEED, PLANS, Reading
from jobs.tools.punctuate import tightest_bounds
from windowing.engine.reading.pack import RawRows
from windowing.model import Pipeline, parse_pipeline
from windowing.runtime.local import LocalEngine

RANGE_ROWS = 10_000
SLIDES = (100, 200, 500, 1000, 2000, 5000, 10_000)
BATCH_ROWS = 50_000
DOCUMENT = ROOT / "benchmarks" / "wid.md"
PICTURES = ROOT / "docs"
ENGINE = "this engine"
_STYLES = {
    "scan only": ("#888888", ":"),
    "window ids": ("#1f5f8b", "-"),
    "panes": ("#2a9d5c", "-"),
    "buffering": ("#d1495b", "-"),
    ENGINE: ("#222222", "--"),
    "consistent": ("#d1495b", "-"),
    "generous": ("#1f5f8b", "-"),
    "punctuation": ("#2a9d5c", ":"),
}

Table = list[list[str]]


def main(
    only: Annotated[int | None, typer.Option(min=1, max=3, help="One experiment.")] = None,
    rows: Annotated[int, typer.Option(min=20_000, help="Rows of experiment 1.")] = 1_000_000,
    records: Annotated[
        int, typer.Option(min=60_000, help="Records of experiments 2 and 3.")
    ] = 120_000,
    dry: Annotated[bool, typer.Option("--dry", help="Print, and write nothing.")] = False,
) -> None:
    """Run the experiments."""
    experiments: dict[int, Callable[[], tuple[Table, Figure]]] = {
        1: lambda: execution_time(rows),
        2: lambda: disorder_within_bounds(records),
        3: lambda: disorder_within_blocks(records),
    }
    for number, experiment in experiments.items():
        if only in (None, number):
            table, figure = experiment()
            print("\n".join(markdown(table)))
            if not dry:
                _keep(number, table, figure)


def _keep(number: int, table: Table, figure: Figure) -> None:
    figure.savefig(PICTURES / f"wid_experiment_{number}.png", dpi=110, facecolor="white")
    lines = markdown(table)
    if number == 1:
        on = machine_line(machine(), "cores", "system", "python", "polars", "load_average")
        lines += ["", on]
    replace_block(DOCUMENT, f"experiment {number}", lines)


def execution_time(rows: int) -> tuple[Table, Figure]:
    """Experiment 1: CPU time against the slide, for windows of ten thousand rows."""
    stream = ordered(rows)
    columns = (stream.seg.tolist(), stream.speed.tolist(), stream.ts_us.tolist())
    readings = [Reading(*row) for row in zip(*columns, strict=True)]
    seconds: dict[str, list[float]] = {name: [] for name in (*PLANS, ENGINE)}
    for slide in track(SLIDES, "experiment 1"):
        answers = {}
        for name, plan in PLANS.items():
            began_s = time.process_time()
            answers[name] = plan(readings, MAX_SPEED, RANGE_ROWS, slide)
            seconds[name].append(time.process_time() - began_s)
        began_s = time.process_time()
        answers[ENGINE] = _by_engine(stream, slide)
        seconds[ENGINE].append(time.process_time() - began_s)
        del answers["scan only"]
        if any(answer != answers["panes"] for answer in answers.values()):
            msg = f"at slide {slide} the plans do not agree"
            raise RuntimeError(msg)
    header = ["ms per run at slide", *(f"{slide:,}" for slide in SLIDES)]
    table = [header] + [
        [name, *(f"{1000 * took:,.0f}" for took in seconds[name])] for name in seconds
    ]
    return table, _time_figure(rows, seconds)


def _by_engine(stream: Stream, slide: int) -> list[tuple[int, int]]:
    """The same windows by our engine, over an attribute that is the row's number."""
    pipeline = _rows_pipeline(slide)
    engine = LocalEngine(pipeline)
    for batch in _numbered(stream.speed.tolist()):
        engine.feed(batch)
    return sorted((row.window_id, cast("int", row.values["m"] or 0)) for row in engine.output.rows)


def _rows_pipeline(slide: int) -> Pipeline:
    return parse_pipeline(f"""
name: rows
source:
  topic: rows
  partitions: 1
  format: json
  event_time: {{field: row, unit: us}}
  fields: {{speed: int}}
  disorder: ordered
late: {{policy: drop}}
shards: 1
queries:
  q:
    window: RANGE {RANGE_ROWS} us SLIDE {slide} us WATTR row
    aggregates: {{m: max(speed)}}
""")


def _numbered(speeds: Sequence[int]) -> Iterator[dict[int, RawRows]]:
    """The rows in batches; a bound at their end closes the last window."""
    for start in range(0, len(speeds), BATCH_ROWS):
        numbers = range(start, min(start + BATCH_ROWS, len(speeds)))
        values: list[bytes | None] = [
            b'{"row":%d,"speed":%d}' % (number, speeds[number]) for number in numbers
        ]
        nothing = [None] * len(values)
        yield {0: RawRows(numbers, values, nothing, nothing)}
    bound = b'{"bound":%d}' % len(speeds)
    yield {0: RawRows([len(speeds)], [None], [bound], [None])}


def disorder_within_bounds(records: int) -> tuple[Table, Figure]:
    """Experiment 2: error against latency for slack in both modes, and for punctuation."""
    stream = bounded_disorder(records)
    windows = Windows(20 * SECOND_US, 5 * SECOND_US)
    points = [
        measure(stream, windows, average_error, slack_s=slack_s, mode=mode)
        for slack_s in track(range(11), "experiment 2")
        for mode in ("consistent", "generous")
    ]
    bounds = tightest_bounds(stream.ts_us, windows.slide_us)
    points.append(
        measure(
            stream, windows, average_error, slack_s=None, mode="consistent", punctuations=bounds
        )
    )
    figure = _error_figure(
        points,
        "average error of a window's mean speed, %",
        f"Bounded disorder: error falls as latency grows ({points[0].windows} windows of 20 s)",
    )
    return _points_table(points, "average error, %"), figure


def disorder_within_blocks(records: int) -> tuple[Table, Figure]:
    """Experiment 3: wrong rows against latency, for a stream sorted by blocks only."""
    stream = block_sorted(records).shifted(20 * SECOND_US)
    windows = Windows(60 * SECOND_US, 60 * SECOND_US)
    slacks = sorted({*range(0, 121, 5), 19, 79})
    points = [
        measure(stream, windows, incorrect, slack_s=slack_s, mode="consistent")
        for slack_s in track(slacks, "experiment 3")
    ]
    bounds = last_of_blocks(stream)
    points.append(
        measure(stream, windows, incorrect, slack_s=None, mode="consistent", punctuations=bounds)
    )
    figure = _error_figure(
        points,
        "wrong rows, %",
        f"Sorted by blocks of 60 s: no slope, but steps ({points[0].windows} windows of 60 s)",
    )
    return _points_table(points, "wrong rows, %"), figure


def _points_table(points: Sequence[Point], measured: str) -> Table:
    curves = [
        label for label in ("consistent", "generous") if any(p.label == label for p in points)
    ]
    table = [["slack, s", "latency, s", *(f"{measured}: {curve}" for curve in curves)]]
    for slack_s in sorted({p.slack_s for p in points if p.slack_s is not None}):
        here = {p.label: p for p in points if p.slack_s == slack_s}
        errors = [f"{here[curve].error_pct:.3g}" for curve in curves]
        table.append([f"{slack_s:g}", f"{here[curves[0]].latency_s:.2f}", *errors])
    (other,) = (p for p in points if p.slack_s is None)
    errors = [f"{other.error_pct:.3g}"] * len(curves)
    table.append(["punctuation", f"{other.latency_s:.2f}", *errors])
    return table


def _error_figure(points: Sequence[Point], measured: str, title: str) -> Figure:
    figure, axes = _axes(title)
    for label in ("consistent", "generous"):
        curve = [p for p in points if p.label == label]
        if curve:
            colour, line = _STYLES[label]
            axes.plot(
                [p.latency_s for p in curve],
                [p.error_pct for p in curve],
                line,
                color=colour,
                marker="o",
                markersize=4,
                label=f"slack, {label}",
            )
    (other,) = (p for p in points if p.slack_s is None)
    colour, line = _STYLES["punctuation"]
    axes.axvline(other.latency_s, linestyle=line, color=colour)
    axes.plot(
        [other.latency_s], [other.error_pct], "D", color=colour, label="punctuation", markersize=7
    )
    axes.set_xlabel("latency: from a window's end to the element that closes it, mean in s")
    axes.set_ylabel(measured)
    axes.legend(frameon=False)
    return figure


def _time_figure(rows: int, seconds: dict[str, list[float]]) -> Figure:
    figure, axes = _axes(f"Maximum of {RANGE_ROWS:,} rows, {rows:,} in all: time against the slide")
    for name, took in seconds.items():
        colour, line = _STYLES[name]
        ms = [1000 * one for one in took]
        axes.plot(SLIDES, ms, line, color=colour, marker="o", markersize=4, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(SLIDES, [f"{slide:,}" for slide in SLIDES])
    axes.minorticks_off()
    axes.set_xlabel("slide, rows")
    axes.set_ylabel("CPU time of a run, ms")
    axes.legend(frameon=False)
    return figure


def _axes(title: str) -> tuple[Figure, Any]:
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.set_title(title, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e5e5e5", linewidth=0.7)
    return figure, axes


if __name__ == "__main__":
    typer.run(main)
