"""The prober finds what a box is, up to what no input in order can tell apart."""

from __future__ import annotations

from random import Random

from tests.unit.research.boxes import (
    random_model,
)
from tests.unit.research.test_probe import recovered
from windowing.research.engines.parameters import Domain
from windowing.research.prober.probe import Model


def check_tuple(model: Model) -> bool:
    """Whether the answer is unique; what is left differs in content change and non-empty."""
    found = recovered(model, Domain.tuple)
    assert model in found.models
    seen = {(one.tick, one.report.window_close, one.report.period) for one in found.hypotheses}
    tick, report, _ = model.hypothesis
    assert seen == {(tick, report.window_close, report.period)}
    flags = {(one.report.content_change, one.report.non_empty) for one in found.hypotheses}
    if report.non_empty:
        either = {(False, True), (True, True)}
        if not report.window_close:
            assert flags == either, "each tick brings a new id"
        # An empty window that closes shows the difference, if one tick ends in a gap.
        assert flags >= either
        assert {one.pick for one in found.hypotheses} >= {model.hypothesis.pick}
    return len(found.hypotheses) == 1


def test_random_tuple_engines_are_recovered() -> None:
    chance = Random(18)
    for _ in range(15):
        check_tuple(random_model(chance, Domain.tuple))
