"""The prober finds what a box is, up to what no input in order can tell apart."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from tests.unit.research.boxes import (
    EveryWindow,
    Hasty,
    SimulatedBox,
    Unsteady,
    random_model,
)
from windowing.research.engines.parameters import Domain, Pick, Report, Tick
from windowing.research.prober.experiments import SIZES, drawn
from windowing.research.prober.hypotheses import (
    Formula,
    Hypothesis,
    answer,
    hypotheses,
    reports_tried,
)
from windowing.research.prober.probe import Model, Recovered, Unmodelable, probe

CLOSED = Report(non_empty=True, window_close=True)
ALIGNED_ENDS = Formula("", -1, 1, 0, -1)
ALIGNED_STARTS = Formula("ceil", -1, 0, 0, -1)


def recovered(model: Model, domain: Domain) -> Recovered:
    found = probe(SimulatedBox(model), domain)
    assert isinstance(found, Recovered), f"{model}: {found}"
    return found


def check_time(model: Model) -> bool:
    """Whether the answer is unique; it is not only if tick and close hide each other."""
    found = recovered(model, Domain.time)
    assert model in found.models
    tick, report, _ = model.hypothesis
    hidden = report.window_close and tick in {Tick.time, Tick.tuple}
    ticks = {Tick.time, Tick.tuple} if hidden else {tick}
    assert {one.tick for one in found.hypotheses} == ticks
    return len(found.hypotheses) == 1


def test_hypotheses_that_are_left_out_report_as_others_do() -> None:
    """Of a tuple-driven tick the picks, where no input tells them apart."""
    drawn_from = Random(5)
    left_out = set(product(Pick, reports_tried())) - {
        (one.pick, one.report) for one in hypotheses(Domain.tuple) if one.tick is Tick.tuple
    }
    assert len(left_out) == 2 * 40 - 10
    for number in range(60):
        experiment = drawn(Domain.tuple, number)
        start = drawn_from.randint(-20, 20)
        for pick, report in left_out:
            ours, largest = (
                answer(Hypothesis(Tick.tuple, report, one), Domain.tuple, start, experiment)
                for one in (pick, Pick.largest)
            )
            assert ours == largest, (pick, report, start, experiment)


def test_random_time_engines_are_recovered() -> None:
    chance = Random(18)
    for _ in range(5):
        check_time(random_model(chance, Domain.time))


def test_flink_is_recovered_except_for_its_tick() -> None:
    model = Model(Hypothesis(Tick.time, CLOSED), ALIGNED_ENDS)
    found = recovered(model, Domain.time)
    assert set(found.hypotheses) == {
        Hypothesis(Tick.time, CLOSED),
        Hypothesis(Tick.tuple, CLOSED),
    }
    assert model in found.models
    # No window before the first tuple is shown: starts a whole number of slides apart look alike.
    for asked in SIZES[Domain.time]:
        phases = {one.formula.start(asked) % asked.slide for one in found.models}
        assert phases == {ALIGNED_ENDS.start(asked) % asked.slide}


def test_spark_structured_streaming_is_distinguished_from_a_time_driven_engine() -> None:
    model = Model(Hypothesis(Tick.batch_end, CLOSED), ALIGNED_STARTS)
    assert recovered(model, Domain.time).hypotheses == (model.hypothesis,)


def test_a_start_without_formula_is_a_table_of_starts() -> None:
    class Odd(SimulatedBox):
        def run(self, domain, asked, stream):  # type: ignore[no-untyped-def]
            odd = Formula("", 0, 0, 0, asked.size * asked.slide % 5)
            return SimulatedBox(Model(self.model.hypothesis, odd)).run(domain, asked, stream)

    model = Model(Hypothesis(Tick.time, Report(window_close=True)), ALIGNED_ENDS)
    found = probe(Odd(model), Domain.time)
    assert isinstance(found, Recovered)
    assert not found.models
    asked = SIZES[Domain.time][0]
    assert asked.size * asked.slide % 5 in found.starts[asked]


def test_a_report_that_holds_the_tuple_that_caused_it_is_not_expressible() -> None:
    found = probe(EveryWindow(), Domain.time)
    assert isinstance(found, Unmodelable)
    assert found.why.startswith("a report holds the tuple that it follows")
    assert found.nearest is not None
    assert len(found.experiment.stream) == 1, "the first tuple alone shows it"
    assert found.answer == (((1,),),)


def test_a_box_that_answers_differently_each_time_is_not_expressible() -> None:
    found = probe(Unsteady(), Domain.time)
    assert isinstance(found, Unmodelable)
    assert found.why == "two runs of one input differ"


def test_a_box_must_answer_for_each_tuple() -> None:
    with pytest.raises(ValueError, match="a box answers once for each tuple"):
        probe(Hasty(), Domain.time)


def test_formulas_are_spelled_for_people() -> None:
    assert str(ALIGNED_ENDS) == "-w + b - 1"
    assert str(ALIGNED_STARTS) == "ceil((f - w) / b) * b - 1"
    assert str(Formula("", 0, 0, 0, 0)) == "0"
    assert str(Formula("floor", 0, -2, -1, 0)) == "floor((f - 2b) / b) * b - w"
