"""Boxes, simulated ones at length: what the prober finds of them, and what is said of it."""

from __future__ import annotations

import json
from random import Random

from jobs.live_engines.findings import words
from tests.unit.research.boxes import (
    SimulatedBox,
    random_model,
)
from tests.unit.research.test_live_engines import data_of
from tests.unit.research.test_probe import recovered
from windowing.research.engines.parameters import Domain, Report, Tick
from windowing.research.prober.hypotheses import Formula, Hypothesis
from windowing.research.prober.probe import Model, Recovered, probe


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


TUPLE_DRIVEN = Model(
    Hypothesis(Tick.tuple, Report(non_empty=True, window_close=True)), Formula("", 0, 0, 0, 0)
)


def test_what_was_found_is_said_with_its_evidence() -> None:
    found = probe(SimulatedBox(TUPLE_DRIVEN), Domain.tuple)
    assert isinstance(found, Recovered)
    told = data_of("partitions", Domain.tuple, found)
    assert (told["ticks"], told["starts"]) == (["tuple-driven"], ["0"])
    assert told["as_profile"] is None
    assert len(told["evidence"]) == len(found.trials) == 72
    lines = "\n".join(words(told))
    assert "tick: tuple-driven" in lines
    assert "steady: 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22\n    t5: {t1…t4};" in lines
    # The profile's first window is (b - w, b]: the windows of this engine begin elsewhere.
    assert data_of("ordered", Domain.tuple, found)["as_profile"] is False
    json.dumps(told)
