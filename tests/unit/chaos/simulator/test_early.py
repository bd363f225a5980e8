"""Early rows are judged: what they show, how they are numbered, and whether one is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from chaos.simulator.case import record
from chaos.simulator.history import SimulationHistory
from chaos.simulator.verdict.due import outcomes_of
from chaos.simulator.verdict.early import early
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
