"""Which lanes are silent for sure, by the clock and by what was delivered."""

from __future__ import annotations

import pytest

from chaos.simulator.history import SimulationHistory
from chaos.simulator.verdict.silence import silent


def history(*batches: tuple[int, set[int], tuple[int, ...]]) -> SimulationHistory:
    """Batches, each with its clock, the lanes of which it had chunks, and the ends."""
    found = SimulationHistory(ends=[ends for *_, ends in batches])
    found.heard = {at: (us, frozenset(lanes)) for at, (us, lanes, _) in enumerate(batches)}
    return found


RUN = history(
    (0, {0, 1}, (1, 1)),
    (9, {0}, (2, 1)),
    (10, {0}, (3, 1)),
    (11, {0, 1}, (4, 1)),  # of lane 1, only what was there before
    (30, {0}, (5, 1)),
)


@pytest.mark.parametrize(
    ("batch", "lanes"), [(0, set()), (1, set()), (2, {1}), (3, set()), (4, {1})]
)
def test_a_lane_is_silent_once_the_timeout_is_over(batch: int, lanes: set[int]) -> None:
    assert silent(RUN, batch, 2, 10) == lanes


def test_where_all_may_be_silent_none_is() -> None:
    again = history((0, {0, 1}, (1, 1)), (20, {0}, (1, 1)))
    assert silent(again, 1, 2, 10) == set()


def test_the_silence_of_a_lane_that_joined_begins_there() -> None:
    joined = history((0, {0}, (1,)), (20, {0}, (2, 0)), (29, {0}, (3, 0)), (30, {0}, (4, 0)))
    joined.joined = {1: 1}
    assert [silent(joined, batch, 2, 10) for batch in (1, 2, 3)] == [set(), set(), {1}]
