"""Lateness: whether a window accepts a record, and when the record appears in it.

A record is late for window w iff the progress of its own lane before it has reached close(w).
`generous` judges each window by itself; `consistent` judges all by the window that closes first. A
late record that a query takes (`update`) is released at an epoch E, a multiple of `every` after
both the window's close and the lane's progress.

Source: Li et al., SIGMOD 2005 (the two kinds of slack); epochs and retention are ours.
"""

from __future__ import annotations

from typing import Literal

from windowing.model.flow import StreamFlow
from windowing.semantics.lanes import Progress

Verdict = int | Literal["on_time", "refused"]


def is_late(query: StreamFlow, close: int, earliest: int, progress: Progress) -> bool:
    """Return whether a record is late for one of its windows.

    Args:
        query: the query with the late policy.
        close: when the window closes.
        earliest: when the first of the record's windows closes.
        progress: of the record's own lane and key before it.
    """
    return progress >= (earliest if query.late.mode == "consistent" else close)


def judge(query: StreamFlow, close: int, earliest: int, progress: Progress) -> Verdict:
    """Decide for one window of a record: on time, refused, or the epoch that releases it.

    Args: as for `is_late`.
    """
    if not is_late(query, close, earliest, progress):
        return "on_time"
    every_us, retention_us = query.late.every_us, query.retention_us
    if every_us is None or (retention_us is not None and progress >= close + retention_us):
        return "refused"
    return epoch(progress, close, every_us)


def epoch(progress: Progress, close: int, every_us: int) -> int:
    """Return the first multiple of `every_us` after both progress and the close."""
    # The progress of a lane that has not ended is finite when a late record comes.
    return (max(int(progress), close) // every_us + 1) * every_us
