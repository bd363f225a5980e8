"""Where the horizon lies, by how far a step of progress goes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from windowing.engine.far import Move, _horizon
from windowing.engine.tuning import tuned
from windowing.engine.wids import ENDED, NOTHING_YET

EVERY_10 = np.arange(10_000) * 10 + 1_000


@pytest.fixture(autouse=True)
def _any_state_is_large() -> Iterator[None]:
    with tuned(far_from_rows=1):
        yield


@pytest.mark.parametrize(
    ("moved", "instants"),
    [
        (Move(990, 999), 100),  # a step passes less than one
        (Move(980, 990), 100),
        (Move(0, 999), 1_000),  # 100 of them
        (Move(NOTHING_YET, 999), 100),  # the first step
        (Move(999, 999), 100),
    ],
)
def test_it_lies_as_many_steps_ahead_as_cost_least(moved: Move, instants: int) -> None:
    assert _horizon(EVERY_10, moved) == EVERY_10[instants]


def test_nothing_is_divided_that_the_next_step_passes() -> None:
    assert _horizon(EVERY_10[:3], Move(0, 999)) is None


@pytest.mark.parametrize("after_us", [ENDED - 1, ENDED])
def test_the_end_of_progress_is_no_step(after_us: int) -> None:
    assert _horizon(EVERY_10, Move(0, after_us)) == EVERY_10[100]


def test_steps_that_pass_a_quarter_leave_it_whole() -> None:
    assert _horizon(EVERY_10, Move(999 - 25_000, 999)) is None
    assert _horizon(EVERY_10, Move(999 - 24_000, 999)) is not None


def test_a_small_state_is_not_divided() -> None:
    with tuned(far_from_rows=len(EVERY_10) + 1):
        assert _horizon(EVERY_10, Move(990, 999)) is None
    with tuned(far_from_rows=len(EVERY_10)):
        assert _horizon(EVERY_10, Move(990, 999)) is not None
