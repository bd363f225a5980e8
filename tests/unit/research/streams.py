"""Small inputs for live engines."""

from __future__ import annotations

from windowing.research.engines.parameters import StreamTuple


def stream_of(*batches: list[int]) -> list[StreamTuple]:
    """Tuples with these times, batch by batch."""
    times = [(time, number) for number, batch in enumerate(batches, 1) for time in batch]
    return [StreamTuple(n, n, time, batch) for n, (time, batch) in enumerate(times, 1)]


def one_by_one(*times: int) -> list[StreamTuple]:
    """Tuples with these times, each in its own batch."""
    return stream_of(*([time] for time in times))
