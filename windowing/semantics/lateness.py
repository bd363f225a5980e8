"""Lateness: which windows take a record, and when they show it.

A record is late for window w iff the progress of its own lane before it has reached end(w).
`generous` judges each window by itself; `consistent` asks about the window that ends first and
answers for all. A late record that a query takes (`update`) is released at an epoch E, a multiple
of `every`, which is after the window's end and after the lane's progress.

Source: Li et al., SIGMOD 2005 (the two kinds of slack); epochs and retention are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

from windowing.semantics.lanes import Progress
from windowing.semantics.windows import extent
from windowing.spec.pipeline import Query


@dataclass(frozen=True, slots=True)
class Taken:
    """What a query makes of one record.

    Attributes:
        on_time: ids of the windows that show it from revision 0 on.
        released: (window id, E) of those that show it from the revision of epoch E on.
    """

    on_time: list[int]
    released: list[tuple[int, int]]

    def __bool__(self) -> bool:
        return bool(self.on_time or self.released)


def judge(query: Query, wids: range, progress: Progress) -> Taken:
    """Decide for each window of a record.

    Args:
        query: its `late` and `retention_us` decide.
        wids: the windows that hold the record.
        progress: of the record's own lane before it, microseconds.
    """
    taken = Taken([], [])
    every_us, retention_us = query.late.every_us, query.retention_us
    ends = {wid: extent(query.window, wid)[1] for wid in wids}
    late_for_first = progress >= min(ends.values(), default=progress)
    for wid, end_us in ends.items():
        late = late_for_first if query.late.mode == "consistent" else progress >= end_us
        if not late:
            taken.on_time.append(wid)
        elif every_us is None or retention_us is None:
            continue  # the policy is not `update`: no window takes a late record
        elif progress < end_us + retention_us:
            taken.released.append((wid, epoch(progress, end_us, every_us)))
    return taken


def epoch(progress: Progress, end_us: int, every_us: int) -> int:
    """The first multiple of `every_us` that is later than both progress and the window's end."""
    # A late record of a lane that has not ended has met a finite progress.
    return (max(int(progress), end_us) // every_us + 1) * every_us
