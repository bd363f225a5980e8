"""Which lanes are silent in a batch: nothing came of them for the timeout, by the simulated clock.

A chunk may bring only what was there before, and whether its lane was heard then is not said
anywhere. So two sets are told: the lanes that are silent either way, and those that may be.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from chaos.simulator.history import SimulationHistory


def silent(history: SimulationHistory, batch: int, lanes: int, timeout_us: int) -> frozenset[int]:
    """Return the lanes that rows of open windows are not to wait for; none, if all may be silent.

    Args:
        history: of the run.
        batch: the batch's number.
        lanes: how many lanes there are in it.
        timeout_us: how long a lane says nothing before it is silent.
    """
    chunks = [history.heard[one][1] for one in range(batch + 1)]
    starts = [(0,) * lanes, *history.ends]
    news = [
        {lane for lane in range(lanes) if lane < len(end) and end[lane] > _end(start, lane)}
        for start, end in zip(starts, history.ends[: batch + 1], strict=False)
    ]

    def since(lane: int, heard: Sequence[Container[int]]) -> int:
        first = history.joined.get(lane, 0)
        last = max((one for one in range(batch + 1) if lane in heard[one]), default=first)
        return history.heard[max(first, last)][0]

    now_us = history.heard[batch][0]
    surely, perhaps = (
        frozenset(lane for lane in range(lanes) if now_us - since(lane, heard) >= timeout_us)
        for heard in (chunks, news)
    )
    return frozenset() if len(perhaps) == lanes else surely


def _end(ends: tuple[int, ...], lane: int) -> int:
    return ends[lane] if lane < len(ends) else 0
