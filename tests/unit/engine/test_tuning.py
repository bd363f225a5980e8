"""Thresholds: what is legal, for how long one is replaced, and how they are drawn."""

from __future__ import annotations

import random

import pytest

from chaos.simulator.draw import draw_tuning
from windowing.engine.tuning import LEGAL, Tuning, tuned, tuning


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("exact_rows_max", 0, "exact_rows_max is 0, and has to be from 1 to 9223372036854775807"),
        ("whole_sum_bits", 63, "whole_sum_bits is 63, and has to be from 0 to 62"),
        ("hash_slots", 24, "hash_slots is 24, and has to be a power of two"),
    ],
)
def test_what_is_not_legal_is_refused(name: str, value: int, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{why}$"), tuned(**{name: value}):
        pass
    assert tuning() == Tuning()


def test_thresholds_are_replaced_within_a_block_also_if_it_fails() -> None:
    with tuned(hash_slots=2):
        with pytest.raises(ZeroDivisionError), tuned(exact_rows_max=1):
            assert tuning() == Tuning(hash_slots=2, exact_rows_max=1) == 1 // 0
        assert tuning() == Tuning(hash_slots=2)
    assert tuning() == Tuning()


def test_every_threshold_is_drawn_small_and_between_and_nothing_illegal() -> None:
    drawn = [draw_tuning(random.Random(seed)) for seed in range(400)]
    for one in drawn:
        assert Tuning(**one) != Tuning() or not one
    assert {} in drawn
    for name, legal in LEGAL.items():
        values = {one.get(name, getattr(Tuning(), name)) for one in drawn}
        assert {legal.least, getattr(Tuning(), name)} <= values
        assert len(values) > 2, name


def test_what_a_run_keeps_is_not_drawn_for_a_restart() -> None:
    drawn = {name for seed in range(200) for name in draw_tuning(random.Random(seed), of_run=False)}
    assert drawn == {name for name, legal in LEGAL.items() if not legal.of_run}
