"""The prober finds what a box is, up to what no input in order can tell apart."""

from __future__ import annotations

from random import Random

from tests.stack.research.test_probe import check_tuple
from tests.unit.research.boxes import (
    random_model,
)
from tests.unit.research.test_probe import CLOSED, check_time, recovered
from windowing.research.engines.parameters import Domain, Pick, Tick
from windowing.research.prober.hypotheses import Formula, Hypothesis
from windowing.research.prober.probe import Model


def test_a_thousand_time_engines_are_recovered_with_the_expected_share() -> None:
    """The source's share: 641 of 1,000."""
    chance = Random(1)
    unique = sum(check_time(random_model(chance, Domain.time)) for _ in range(1000))
    assert 600 <= unique <= 720


def test_five_hundred_tuple_engines_are_recovered_with_the_expected_share() -> None:
    """The source's share: 240 of 500."""
    chance = Random(1)
    unique = sum(check_tuple(random_model(chance, Domain.tuple)) for _ in range(500))
    assert 195 <= unique <= 270


def test_a_pick_is_recovered() -> None:
    for pick in Pick:
        model = Model(Hypothesis(Tick.time, CLOSED, pick), Formula("", 0, 0, 0, 0))
        found = recovered(model, Domain.tuple)
        assert {one.pick for one in found.hypotheses} == {pick}
