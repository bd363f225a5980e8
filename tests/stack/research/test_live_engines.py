"""Live engines as boxes, on inputs whose reports were worked out by hand; what is said of them."""

from __future__ import annotations

import json

from jobs.live_engines.findings import words
from tests.unit.research.boxes import SimulatedBox
from tests.unit.research.test_live_engines import data_of
from windowing.research.engines.parameters import Domain, Report, Tick
from windowing.research.prober.hypotheses import Formula, Hypothesis
from windowing.research.prober.probe import Model, Recovered, probe

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
