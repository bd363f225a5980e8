"""A run's life in few buckets: what tables and the driver's metrics say, put together."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.overview.buckets import Buckets, beginnings, common_width
from jobs.overview.lanes import spell_clock
from jobs.overview.metrics_file import BatchMetrics
from jobs.overview.schema import BUCKETS_MAX, Bucket
from jobs.overview.totals import DeadLetterTotals, LaneCounts, Results


def history(
    results: Sequence[Results],
    counts: LaneCounts | None,
    dead: DeadLetterTotals | None,
    metrics: BatchMetrics,
) -> list[Bucket]:
    """Return the buckets of a run's life, the oldest first, with those in which nothing happened.

    Args:
        results: what the tables of its queries say.
        counts: what the table of metrics says; None: unreadable.
        dead: what the table of dead letters says; None: unreadable.
    """
    read = counts.history if counts else Buckets()
    letters, measured = dead.history if dead else Buckets(), metrics.history()
    every = [*(one.history for one in results), read, letters, measured]
    width_us = common_width(every, BUCKETS_MAX)
    rows = Buckets(width_us)
    for one in results:
        rows.merge(one.history)
    by_lane, by_letter = read.widened(width_us), letters.widened(width_us)
    by_line, by_row = measured.widened(width_us), rows.widened(width_us)
    state_bytes = metrics.state_bytes(width_us)
    found = []
    for at_us in beginnings(every, width_us):
        records, dropped, batches = by_lane.get(at_us, (0, 0, 0))
        letter_count, late_letters = by_letter.get(at_us, (0, 0))
        written, revisions = by_row.get(at_us, (0, 0))
        line = by_line.get(at_us)
        late = dropped + late_letters if counts and dead else _late(line)
        found.append(
            Bucket(
                at=spell_clock(at_us) or "",
                rows=written,
                revisions=revisions,
                records=records,
                late=late,
                dead=letter_count,
                batches=batches or (line[0] if line and counts is None else 0),
                batch_ms=_mean_ms(line),
                state_bytes=state_bytes.get(at_us),
            )
        )
    return found


def _late(line: Sequence[int] | None) -> int | None:
    return None if line is None else line[2]


def _mean_ms(line: Sequence[int] | None) -> float | None:
    if line is None or not line[0]:
        return None
    return round(line[1] / line[0] / 1000, 1)
