"""Aggregate over policy windows: the library against operators written by hand.

Writes the tables into `benchmarks/policies.md`, and the picture of the ratios into `docs/`.

    .venv/bin/python -m benchmarks.policies
    .venv/bin/python -m benchmarks.policies --largest 10000 --rounds 1 --dry
"""

from __future__ import annotations

import random
import statistics
import time as clocks
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, Final, Protocol

import typer
from matplotlib.figure import Figure
from rich.progress import track

from benchmarks.figures import ROOT, machine, machine_line, markdown, replace_block
from benchmarks.handwritten import aggregate as handwritten
from windowing.engine.rows.operators import (
    Aggregate,
    Output,
    PortOutput,
    Punctuation,
    sliding,
    tumbling,
)
from windowing.engine.rows.policies import (
    count,
    delta,
    partition_age,
    partition_count,
    time,
    tuple_count,
)
from windowing.model.windows.policy import WindowClause

DOCUMENT: Final = ROOT / "benchmarks" / "policies.md"
PICTURE: Final = ROOT / "docs" / "policy_windows.png"
KEYS: Final = 10
SIZES: Final = tuple(10**power for power in range(1, 7))
SLIDING_SIZES: Final = SIZES[:5]
# The clock is advanced by a millisecond after so many tuples.
_PER_MS: Final = 10
_LEAST_ROWS: Final = 50_000

Row = Mapping[str, Any]
Called = Mapping[str, tuple[str, tuple[str, ...]]]
_AVERAGE: Final[Called] = {"average": ("Average", ("value",))}
_PERCENTILE: Final[Called] = {"percentile": ("Percentile", ("value", "95"))}


class Operator(Protocol):
    """What is measured: an operator."""

    def insert(self, row: Row) -> object:
        """Process a tuple."""

    def tick(self, now_us: int) -> None:
        """Do everything due up to an instant."""


@dataclass(frozen=True)
class Case:
    """One curve: windows of all sizes.

    Attributes:
        sizes: of the window, in tuples.
    """

    name: str
    sizes: Sequence[int]
    window: Callable[[int], WindowClause]
    called: Called
    timed: bool = False

    @property
    def slides(self) -> bool:
        """Whether the window slides; then it is filled before anything is measured."""
        return self.called is _PERCENTILE


def _keyed(size: int, eviction: Any = None) -> WindowClause:
    return tumbling(count(max(size // KEYS, 1)), partition_by=("key",), partition_eviction=eviction)


CASES: Final = (
    Case("count", SIZES, lambda n: tumbling(count(n)), _AVERAGE),
    Case("delta", SIZES, lambda n: tumbling(delta("row", n - 1)), _AVERAGE),
    Case("time", SIZES, lambda n: tumbling(time(n / _PER_MS / 1000)), _AVERAGE, timed=True),
    Case("count, partitioned", SIZES, _keyed, _AVERAGE),
    Case("…, partitionCount", SIZES, lambda n: _keyed(n, partition_count(KEYS - 1)), _AVERAGE),
    Case("…, tupleCount", SIZES, lambda n: _keyed(n, tuple_count(max(n // 2, 1))), _AVERAGE),
    Case("…, partitionAge", SIZES, lambda n: _keyed(n, partition_age(0.004)), _AVERAGE, timed=True),
    Case("sliding, count(1)", SLIDING_SIZES, lambda n: sliding(count(n), count(1)), _PERCENTILE),
    Case(
        "sliding, count(100)", SLIDING_SIZES, lambda n: sliding(count(n), count(100)), _PERCENTILE
    ),
)


@dataclass
class Cell:
    """One size of a case: seconds per round.

    Attributes:
        rows: how many tuples were measured.
        library, by_hand: the seconds of each round.
    """

    case: Case
    size: int
    rows: int
    library: list[float]
    by_hand: list[float]

    @property
    def ratios(self) -> list[float]:
        """The library's speed as a multiple of the other's, in each round."""
        return [b / a for a, b in zip(self.library, self.by_hand, strict=True)]


def main(
    largest: Annotated[int, typer.Option(min=10, help="Largest window.")] = SIZES[-1],
    rounds: Annotated[int, typer.Option(min=1, help="How often each cell is measured.")] = 5,
    dry: Annotated[bool, typer.Option("--dry", help="Print, and write nothing.")] = False,
) -> None:
    """Compare throughputs, and results before."""
    cells = [measure(case, size, rounds) for case, size in track([*_cells(largest)], "cells")]
    lines = [*markdown(_table(cells)), "", *markdown(_loop_table(largest, rounds))]
    print("\n".join(lines))
    if not dry:
        _figure(cells).savefig(PICTURE, dpi=110, facecolor="white")
        on = machine_line(machine(), "cores", "system", "python", "load_average")
        replace_block(DOCUMENT, "throughput", [*lines, "", f"{rounds} rounds. {on}"])


def _cells(largest: int) -> Iterator[tuple[Case, int]]:
    return ((case, size) for case in CASES for size in case.sizes if size <= largest)


def measure(case: Case, size: int, rounds: int) -> Cell:
    """Measure a cell in rounds that run both operators one after the other.

    Raises:
        RuntimeError: their results differ.
    """
    before = size if case.slides else 0
    rows = max(2_000_000 // size, 500) if case.slides else max(_LEAST_ROWS, size + size // 5)
    data = tuples(before + min(rows, _LEAST_ROWS if case.slides else rows))
    cell = Cell(case, size, len(data) - before, [], [])
    for _ in range(rounds):
        sent: list[Any] = []
        window = case.window(size)
        outputs = {name: Output(*called) for name, called in case.called.items()}
        library = Aggregate(window, outputs, _into(sent))
        cell.library.append(_seconds(library, data, before, timed=case.timed))
        found: list[Any] = []
        by_hand = handwritten.Aggregate(window, case.called, found.append)
        cell.by_hand.append(_seconds(by_hand, data, before, timed=case.timed))
        by_hand.close()
        if found != sent:
            msg = f"{case.name}, {size}: the operators' results differ"
            raise RuntimeError(msg)
    return cell


def _into(found: list[Any]) -> Callable[[PortOutput], None]:
    """Return what appends the library's output to a list, in the form of the other operator."""

    def take(one: PortOutput) -> None:
        item = one.item
        found.append(handwritten.PUNCTUATION if isinstance(item, Punctuation) else item)

    return take


def tuples(rows: int) -> list[Row]:
    """Return tuples with a number, a uniform key and a value."""
    draw = random.Random(16)
    return [
        {"row": number, "key": draw.randrange(KEYS), "value": draw.randrange(1000)}
        for number in range(rows)
    ]


def _seconds(operator: Operator, data: Sequence[Row], before: int, *, timed: bool) -> float:
    insert, tick = operator.insert, operator.tick
    for row in data[:before]:
        insert(row)
    measured = data[before:]
    began_s = clocks.perf_counter()
    if timed:
        for start in range(0, len(measured), _PER_MS):
            for row in measured[start : start + _PER_MS]:
                insert(row)
            tick((start // _PER_MS + 1) * 1000)
    else:
        for row in measured:
            insert(row)
    return clocks.perf_counter() - began_s


def _table(cells: Sequence[Cell]) -> list[list[str]]:
    """Return speed of the library, and the ratio: median, and least to most of the rounds."""
    sizes = sorted({cell.size for cell in cells})
    table = [["window", *(f"{size:,}" for size in sizes)]]
    for case in dict.fromkeys(cell.case.name for cell in cells):
        found = {cell.size: cell for cell in cells if cell.case.name == case}
        table.append([case, *(_cell(found[size]) if size in found else "" for size in sizes)])
    return table


def _cell(cell: Cell) -> str:
    speed = statistics.median(cell.rows / seconds for seconds in cell.library)
    middle = statistics.median(cell.ratios)
    extent = f"{min(cell.ratios):.1f} – {max(cell.ratios):.1f}"
    return f"{speed / 1000:,.0f} k/s · **{middle:.2f}** ({extent})"


def _loop_table(largest: int, rounds: int) -> list[list[str]]:
    """Compare with a bare loop: one window by count, and no operator around it."""
    sizes = [size for size in SIZES if size <= largest]
    table = [["ratio to", *(f"{size:,}" for size in sizes)]]
    ratios = []
    for size in sizes:
        cell = Cell(CASES[0], size, max(_LEAST_ROWS, size), [], [])
        data = tuples(cell.rows)
        for _ in range(rounds):
            sent: list[Any] = []
            operator = Aggregate(
                tumbling(count(size)), {"average": Output("Average", ("value",))}, sent.append
            )
            cell.library.append(_seconds(operator, data, 0, timed=False))
            began_s = clocks.perf_counter()
            averages = [*_averages(data, size)]
            cell.by_hand.append(clocks.perf_counter() - began_s)
            if averages != [*chain(one.item["average"] for one in sent[::2])]:
                msg = f"bare loop, {size}: results differ"
                raise RuntimeError(msg)
        ratios.append(f"{statistics.median(cell.ratios):.2f}")
    return [*table, ["a bare loop", *ratios]]


def _averages(data: Sequence[Row], size: int) -> Iterator[int]:
    window: list[int] = []
    for row in data:
        window.append(row["value"])
        if len(window) == size:
            yield sum(window) // size
            window.clear()


def _figure(cells: Sequence[Cell]) -> Figure:
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for axes, slides, title in (
        (left, False, "Tumbling, average"),
        (right, True, "Sliding, 95th percentile"),
    ):
        for name in dict.fromkeys(cell.case.name for cell in cells if cell.case.slides == slides):
            curve = [cell for cell in cells if cell.case.name == name]
            axes.plot(
                [cell.size for cell in curve],
                [statistics.median(cell.ratios) for cell in curve],
                marker="o",
                markersize=4,
                label=name,
            )
        axes.axhline(1, color="#888888", linestyle=":")
        axes.set_title(title, loc="left", fontsize=11)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("window, tuples")
        axes.set_ylabel("throughput: library / by hand")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#e5e5e5", linewidth=0.7)
        axes.legend(frameon=False, fontsize=8)
    return figure


if __name__ == "__main__":
    typer.run(main)
