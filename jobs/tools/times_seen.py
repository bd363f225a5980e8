"""The event times of a log on its way to an engine: are they plausible, and appended when?

Looked at are the first records of each lane in each batch, so that a long log takes no longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import polars as pl

from windowing.engine.columns import KIND, TIME
from windowing.engine.reading.pack import DATA, RawRows, pack
from windowing.engine.reading.rules import ValueRules
from windowing.explain.notes import TimesSeen
from windowing.model import Pipeline
from windowing.model.limits import PLAUSIBLE_US

ROWS_MAX: Final = 1_000
"""How many records of a lane's batch are looked at."""

Times = dict[int, TimesSeen]
"""What was seen, by the number of the source's part."""

Batch = Mapping[int, RawRows]


def seen(pipeline: Pipeline, batches: Iterable[Batch], times: Times) -> Iterator[Batch]:
    """Yield batches, and note the times in them."""
    topics = [part.topic for part in pipeline.source.parts]
    lanes = range(pipeline.source.partitions)
    of_lane = {n: topics.index(pipeline.source.place(n)[0].topic) for n in lanes}
    rules = {number: ValueRules.of(pipeline, number) for number in of_lane}
    for batch in batches:
        for number, rows in batch.items():
            if number in of_lane:
                part = rows.part(0, ROWS_MAX)
                chunk = pack(part, rules[number]).with_columns(
                    pl.Series("append_us", part.append_us, dtype=pl.Int64)
                )
                found = times.setdefault(of_lane[number], TimesSeen())
                note(found, chunk.filter(pl.col(KIND) == DATA))
        yield batch


def note(found: TimesSeen, records: pl.DataFrame) -> None:
    """Add records, by their columns `ts_us` and `append_us`."""
    times = records[TIME]
    odd = times.filter((times < PLAUSIBLE_US[0]) | (times >= PLAUSIBLE_US[1]))
    found.looked_at += len(times)
    found.undated += records["append_us"].null_count()
    if len(odd):
        least, greatest = int(odd.min()), int(odd.max())  # type: ignore[arg-type]
        found.least_us = min(found.least_us, least) if found.odd else least
        found.greatest_us = max(found.greatest_us, greatest) if found.odd else greatest
        found.odd += len(odd)
    if len(times):
        least, greatest = int(times.min()), int(times.max())  # type: ignore[arg-type]
        found.first_us = least if found.first_us is None else min(found.first_us, least)
        found.last_us = greatest if found.last_us is None else max(found.last_us, greatest)
