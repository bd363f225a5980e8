"""Early rows, and which lanes are silent, are what the simulator expects them to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from chaos.simulator.case import record
from chaos.simulator.history import SimulationHistory
from chaos.simulator.verdict.due import outcomes_of
from chaos.simulator.verdict.early import early, silent
from tests.unit.chaos.simulator.test_simulator import PIPELINE, data, lane
from windowing.model import parse_pipeline
from windowing.model.rows import Row

SPEC = parse_pipeline(PIPELINE.replace("shards:", "early: {records: 2}\nshards:"))
# Two records of an open window, one that changes nothing yet, one that makes it two more; its end.
LOG = [[record(one) for one in lane(data(1), data(2), data(3), data(4), data(11))]]
ENDS = [(2,), (3,), (4,), (5,)]


def right() -> SimulationHistory:
    history = SimulationHistory(ends=ENDS)
    history.early = {0: [shown(2, 1)], 2: [shown(4, 2)]}
    return history


def shown(records: int, number: int) -> Row:
    """An early row of the first window."""
    offsets = {"s/0": (0, records - 1)}
    return Row("q", 0, 0, 10, ("a",), "early", number, records, offsets, {"n": records})


def found(history: SimulationHistory) -> list[str]:
    return [*early(SPEC, LOG, history, outcomes_of(SPEC, LOG, ENDS))]


def test_the_right_rows_are_legal() -> None:
    assert not found(right())


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda rows: rows.pop(0), "no early row in batch 0"),
        (lambda rows: rows.update({1: [shown(2, 2)]}), "nothing new after 2"),
        (lambda rows: rows.update({1: [shown(3, 1)]}), "number 1 after 1"),
        (lambda rows: rows.update({2: [shown(3, 2)]}), "and right is"),
        (lambda rows: rows.update({2: [replace(shown(4, 2), values={"n": 5})]}), "and right is"),
        (lambda rows: rows.update({3: [shown(5, 3)]}), "it is not open"),
        (
            lambda rows: rows.update({3: [replace(shown(4, 3), window_id=7, absorbed_by=1)]}),
            "takes back what was never shown",
        ),
    ],
)
def test_other_rows_are_not(spoil: Callable[[dict[int, list[Row]]], object], why: str) -> None:
    history = right()
    spoil(history.early)
    [line] = found(history)
    assert why in line


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
