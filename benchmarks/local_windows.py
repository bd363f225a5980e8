"""Windows of local time, and those that cumulate, against the sliding ones next to them.

CPU seconds of the whole core on one thread (`benchmarks.core`), in rounds that run each pair side
by side. More than 1 means that the sliding windows cost more.
"""

from __future__ import annotations

import statistics
from typing import Annotated, Final

import typer
from rich.table import Table

from benchmarks.cases import CASE
from benchmarks.core import Clock, Core, batches_of, console
from benchmarks.events import DELAY_MS_MAX, LANES
from benchmarks.figures import RECORDS
from windowing.engine.loops.ready import make_ready
from windowing.engine.plan import plan_of
from windowing.model import Pipeline, parse_pipeline
from windowing.spark.memory import keep_freed_memory

PAIRS: Final = {
    "local days / UTC days": (
        "RANGE 1 day SLIDE 1 day ZONE Europe/Berlin",
        "RANGE 1 day SLIDE 1 day",
    ),
    "local week by days / UTC": (
        "RANGE 7 days SLIDE 1 day ZONE Europe/Berlin",
        "RANGE 7 days SLIDE 1 day",
    ),
    "cumulate 1 day by 1 min / sliding 60 / 1 min": (
        "RANGE CUMULATE 1 day SLIDE 1 minute",
        "RANGE 60 minutes SLIDE 1 minute",
    ),
}


def pipeline_of(clause: str) -> Pipeline:
    """Return a pipeline over the events of `benchmarks.cases` with a window."""
    return parse_pipeline(
        f"""
name: benchmark
source:
  topic: events
  partitions: {LANES}
  format: json
  event_time: {{field: ts, unit: ms}}
  fields: {{key: string, amount: int}}
  disorder: {{slack: {DELAY_MS_MAX // 1000} seconds}}
queries:
  windows:
    window: {clause} WATTR ts
    group_by: [key]
    aggregates: {{n: count, total: sum(amount), largest: max(amount)}}
""",
        file="benchmark.yml",
    )


def main(
    *,
    events: Annotated[int, typer.Option(min=10_000, help="How many events.")] = 1_000_000,
    batches: Annotated[int, typer.Option(min=2, help="Into how many batches they are cut.")] = 8,
    rounds: Annotated[int, typer.Option(min=1, help="How often each of a pair runs.")] = 5,
) -> None:
    """Measure what a calendar, and periods that begin anew, cost the core."""
    make_ready()
    keep_freed_memory()
    data = CASE["sliding_60_1"].data(RECORDS / "data", events, batches)

    def measured(clause: str) -> tuple[float, int]:
        pipeline, clock = pipeline_of(clause), Clock(None)
        core = Core(pipeline, clock, fused=plan_of(pipeline).why_lanes is None)
        for batch in batches_of(data):
            core.feed(batch)
        return sum(clock.seconds.values()), core.results

    table = Table("pair", "CPU s", "rows", "ratio, median (min – max)")
    for name, (ours, other) in PAIRS.items():
        found = [(measured(ours), measured(other)) for _ in range(rounds)]
        ratios = [there / here for (here, _), (there, _) in found]
        seconds = [statistics.median(one[side][0] for one in found) for side in (0, 1)]
        table.add_row(
            name,
            " / ".join(f"{one:.2f}" for one in seconds),
            " / ".join(f"{one[1]:,}" for one in found[0]),
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f} – {max(ratios):.2f})",
        )
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
