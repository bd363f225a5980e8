"""The three experiments of Salehi et al., MDM 2009: which of many queries slide now.

Writes tables and figures into `benchmarks/slides.md` and pictures into `docs/`.

    .venv/bin/python -m benchmarks.slides              all three, some five minutes
    .venv/bin/python -m benchmarks.slides --quick      a minute; writes nothing
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import typer
from matplotlib.figure import Figure
from rich.progress import track

from benchmarks import slides_pictures
from benchmarks.figures import ROOT, machine, machine_line, markdown, replace_block
from benchmarks.slides_measured import (
    ALPHAS,
    INTERVALS,
    PLAIN,
    SLIDES_MS,
    SPEED_IN_THE_PAPER,
    TREES,
    WAYS,
    Accuracy,
    Cell,
    Size,
    SlideCounts,
    accuracy,
    by_batch,
    count,
    measure,
    ratios,
)

DOCUMENT: Final = ROOT / "benchmarks" / "slides.md"
PICTURES: Final = ROOT / "docs"
LARGEST: Final = (200, 800, 2_000)
BATCHES: Final = (1, 10, 100, 1_000)

Table = list[list[str]]


@dataclass(frozen=True)
class Extent:
    """How much is run.

    Attributes:
        rounds: how often speeds are measured.
        tuples: of a round.
        seeds: sets of slides whose operations are counted.
        counted: tuples over which they are.
        draws: of delays.
        stream: tuples in a draw for the long run.
    """

    queries: Sequence[int] = (10, 30, 50, 100, 1_000, 5_000, 10_000)
    rounds: int = 5
    tuples: int = 10_000
    seeds: int = 3
    counted: int = 100_000
    draws: int = 1_000
    stream: int = 500


QUICK: Final = Extent((10, 100, 10_000), 3, 2_000, 1, 10_000, 100, 200)
# Reported for six intervals between runs: slides of three and of five minutes.
_INTERVALS_IN_THE_PAPER: Final = {
    "A": (Accuracy(237, 57), Accuracy(362, 62)),
    "B": (Accuracy(193, 15), Accuracy(312, 17)),
}


def main(
    quick: Annotated[
        bool, typer.Option("--quick", help="A short run that writes nothing.")
    ] = False,
    only: Annotated[int | None, typer.Option(min=1, max=3, help="One experiment.")] = None,
) -> None:
    """Run the experiments."""
    for number in EXPERIMENTS if only is None else (only,):
        if quick:
            lines, _ = EXPERIMENTS[number](QUICK)
        else:
            lines = write(number, Extent())
        print("\n".join(lines))


def write(number: int, extent: Extent) -> list[str]:
    """Run an experiment, write its tables and its picture, and return the tables."""
    lines, figure = EXPERIMENTS[number](extent)
    picture = PICTURES / f"slides_experiment_{number}.png"
    figure.savefig(picture, dpi=110, facecolor="white")
    replace_block(DOCUMENT, f"experiment {number}", lines)
    return lines


def speed(extent: Extent) -> tuple[list[str], Figure]:
    """Experiment 1: time of every way as a multiple of testing every slide at every tuple."""
    sizes = [Size(queries, largest) for largest in LARGEST for queries in extent.queries]
    cells = [measure(size, extent.rounds, extent.tuples) for size in track(sizes, "experiment 1")]
    largest = Size(max(extent.queries), LARGEST[-1])
    batches = by_batch(largest, BATCHES, min(extent.tuples, 2_000))
    on = machine_line(machine(), "cores", "system", "python", "load_average")
    lines = [
        *("Which slides are due:", "", *markdown(_speeds(cells, ids=False)), ""),
        *("Which queries run, in order:", "", *markdown(_speeds(cells, ids=True)), ""),
        f"Due slides in batches, {largest.queries:,} queries, slides ≤ {largest.largest:,}:",
        *("", *markdown(_per_tuple(batches)), ""),
        f"CPU time, {extent.rounds} rounds of {extent.tuples:,} tuples. {on}",
    ]
    return lines, slides_pictures.speeds(cells)


def _speeds(cells: Sequence[Cell], *, ids: bool) -> Table:
    """Return the speed of each way: median and span of the ratios within rounds."""
    ways = [way for way in WAYS if way != PLAIN]
    table = [["slides ≤", "queries", "plain, µs per tuple", "graph, in the paper", *ways]]
    for cell in cells:
        took = cell.ids if ids else cell.checks
        found = {way: ratios(took, way) for way in ways}
        plain_us = 1e6 * statistics.median(took[PLAIN]) / cell.tuples
        table.append(
            [
                *(f"{cell.size.largest:,}", f"{cell.size.queries:,}", f"{plain_us:.2f}"),
                SPEED_IN_THE_PAPER.get(cell.size, ""),
                *(
                    f"**{statistics.median(each):.3g}** ({min(each):.3g} – {max(each):.3g})"
                    for each in found.values()
                ),
            ]
        )
    return table


def _per_tuple(batches: dict[str, list[float]]) -> Table:
    table = [["µs per tuple, in batches of", *(f"{batch:,}" for batch in BATCHES)]]
    table += [[way, *(f"{1e6 * one:.3g}" for one in took)] for way, took in batches.items()]
    return table


def operations(extent: Extent) -> tuple[list[str], Figure]:
    """Experiment 2: tests and pushes per tuple, counted, against their formulas."""
    sizes = [Size(queries, largest) for largest in LARGEST for queries in extent.queries]
    found = {
        size: count(size, extent.seeds, extent.counted) for size in track(sizes, "experiment 2")
    }
    off = max(one.off for _, trees in found.values() for one in trees.values())
    lines = [
        *markdown(
            [
                ["slides ≤", "queries", "distinct = plain tests", *_headings()],
                *(_counts(size, *counts) for size, counts in found.items()),
            ]
        ),
        "",
        f"Means over {extent.seeds} draws of slides, {extent.counted:,} tuples each. Every walk "
        "made exactly the tests and pushes that follow from its tree; the formulas for the long "
        f"run are off by {100 * off:.2f} % at most.",
    ]
    return lines, slides_pictures.operations(found)


def _headings() -> Iterator[str]:
    yield from ("graph: tests", "cost", "plain / tests", "plain / cost")
    for name in TREES:
        if name != "graph":
            yield from (f"{name}: dummies", "tests", "cost")


def _counts(size: Size, distinct: float, trees: dict[str, SlideCounts]) -> list[str]:
    graph = trees["graph"]
    row = [f"{size.largest:,}", f"{size.queries:,}", f"{distinct:,.1f}"]
    row += [f"{graph.tests:.1f}", f"{graph.cost:.1f}"]
    row += [f"{distinct / graph.tests:.1f}", f"{distinct / graph.cost:.2f}"]
    for name, one in trees.items():
        if name != "graph":
            added = one.dummies - graph.dummies
            row += [f"{added:+.1f}", f"{one.tests:.1f}", f"{one.cost:.1f}"]
    return row


def delays(extent: Extent) -> tuple[list[str], Figure]:
    """Experiment 3: how far intervals between runs are from the slide."""
    found = {f"{name}, in the paper": pair for name, pair in _INTERVALS_IN_THE_PAPER.items()}
    for alpha in (None, *ALPHAS):
        name = "A" if alpha is None else f"B, α = {alpha:g}"
        found[name] = _pair(alpha, 3 * INTERVALS, extent.draws, INTERVALS)
        found[f"{name}, long run"] = _pair(alpha, extent.stream, extent.draws // 5, None)
    table = [["runs begun by", "mean: 3 min", "5 min", "error: 3 min", "5 min"]]
    for name, pair in found.items():
        table.append(
            [
                name,
                *(_minutes(one.mean_s) for one in pair),
                *(f"{one.error_s:.1f} s" for one in pair),
            ]
        )
    times = [
        min(ours.error_s / theirs.error_s for ours, theirs in zip(found["A"], pair, strict=True))
        for name, pair in found.items()
        if name.startswith("B, α") and "long" not in name
    ]
    lines = [*markdown(table), "", f"A's error is at least {min(times):.1f} times B's."]
    return lines, slides_pictures.errors(
        {name: pair for name, pair in found.items() if "long" not in name}
    )


def _minutes(seconds: float) -> str:
    minutes, tenths = divmod(round(10 * seconds), 600)
    return f"{minutes}:{tenths / 10:04.1f}"


def _pair(
    alpha: float | None, tuples: int, draws: int, first: int | None
) -> tuple[Accuracy, Accuracy]:
    three, five = (accuracy(alpha, slide, tuples, draws, first) for slide in SLIDES_MS)
    return three, five


EXPERIMENTS: Final = {1: speed, 2: operations, 3: delays}


if __name__ == "__main__":
    typer.run(main)
