"""What each mechanism for speed brings by itself: the core with it and without it, in turn.

A mechanism is switched off by its threshold (`windowing/engine/tuning.py`). The core is about half
of the CPU time of a job over files, and less of one from a topic: what makes it a fifth faster
makes such a job a tenth faster, which is what a mechanism has to bring. What shows only once a run
is old, or has thousands of open windows, is not here: merged deltas, and cold state.
"""

from __future__ import annotations

import statistics
from typing import Annotated, Final

import typer
from rich.progress import track
from rich.table import Table

from benchmarks.cases import CASES, Case
from benchmarks.core import Clock, console, core_over
from benchmarks.figures import RECORDS
from windowing.engine.loops.ready import make_ready
from windowing.engine.tuning import tuned
from windowing.spark.memory import keep_freed_memory

WITHOUT: Final[dict[str, dict[str, int]]] = {
    "read by shape": {"alike_from_values": 1 << 40},
    "sums in 64 bits": {"whole_sum_bits": 0},
    "slices rolled up": {"rolled_cells_per_listed": 0},
}
"""The thresholds that switch a mechanism off, by the mechanism's name."""


def main(
    *,
    events: Annotated[int, typer.Option(min=10_000, help="How many events.")] = 2_000_000,
    batches: Annotated[int, typer.Option(min=2, help="Into how many batches they are cut.")] = 8,
    rounds: Annotated[int, typer.Option(min=1, help="How often each is measured.")] = 3,
    only: Annotated[str, typer.Option(help="Only mechanisms with this in their name.")] = "",
) -> None:
    """Measure the core without each mechanism, as multiples of its CPU time with all of them."""
    make_ready()  # as workers do
    keep_freed_memory()
    cases = [case for case in CASES if not case.from_topic]
    chosen = {name: off for name, off in WITHOUT.items() if only in name}
    ways: dict[str, dict[str, int] | None] = {"": {}, "lanes fused away": None, **chosen}
    took = {(way, case.name): list[float]() for way in ways for case in cases}
    for _ in track(range(rounds), description="rounds", console=console):
        for case in cases:
            for way, off in ways.items():
                took[way, case.name].append(_cpu_seconds(case, events, batches, off))
    console.print(_table(cases, took, list(ways)))


def _cpu_seconds(case: Case, events: int, batches: int, off: dict[str, int] | None) -> float:
    """Run the core, with some thresholds; None: with a step of their own for lanes."""
    clock = Clock(None)
    with tuned(**(off or {})):
        core_over(case.data(RECORDS / "data", events, batches), case, clock, lanes=off is None)
    return sum(clock.seconds.values())


def _table(cases: list[Case], took: dict[tuple[str, str], list[float]], ways: list[str]) -> Table:
    table = Table("without", *(case.title for case in cases))
    for way in ways[1:]:
        cells = []
        for case in cases:
            pairs = zip(took[way, case.name], took["", case.name], strict=True)
            ratios = sorted(without / whole for without, whole in pairs)
            low, middle, high = ratios[0], statistics.median(ratios), ratios[-1]
            cells.append(f"{middle:.2f} ({low:.2f} – {high:.2f})")
        table.add_row(way, *cells)
    table.caption = "CPU seconds without it / with all, median (least – most) of the rounds"
    return table


if __name__ == "__main__":
    typer.run(main)
