"""Other cases than the recorded ones: whatever the rules expect, the engine gives.

The recorded cases show that the rules are read right; these, that the engine keeps them where
queries come and go in ways that no recorded case combines.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.drivers.gsn_firings import Firings
from conformance.drivers.gsn_graphs import Graphs
from conformance.gsn import case as recorded_graphs
from conformance.gsn import firings as recorded_firings
from conformance.gsn.case import GraphCase
from conformance.gsn.firings import RemoteBCase
from conformance.gsn.judge import judge, judge_firings
from tests.unit.conformance import gsn_rules
from tests.unit.conformance.gsn_cases import MODES, random_firings, random_graph

DATA = Path("tests/data/gsn")
SEEDS = st.integers(0, 2**32)


def steps_of(case: GraphCase) -> list[dict[str, object]]:
    """The graph after each step, by the rules."""
    slides = [slide for slide in case.slides if case.in_graph(slide)]
    found = []
    for step in case.steps:
        if case.in_graph(step.slide):
            (slides.append if step.op == "add" else slides.remove)(step.slide)
        found.append(gsn_rules.tree(slides))
    return found


def expecting(case: GraphCase) -> GraphCase:
    """The case with what the rules expect."""
    steps = [
        step.model_copy(
            update={key: after[key] for key in ("root", "dummy_root", "strong", "tests")}
        )
        for step, after in zip(case.steps, steps_of(case), strict=True)
    ]
    return case.model_copy(update={"expected": gsn_rules.graphs(case), "steps": steps})


def test_the_rules_give_the_recorded_runs() -> None:
    for case in recorded_firings.read_cases(DATA / "firings.jsonl"):
        verdict = judge_firings(case, gsn_rules.runs(case), "rules")
        assert verdict.difference is None, verdict.line()


def test_the_rules_give_the_recorded_graphs() -> None:
    for case in recorded_graphs.read_cases(DATA / "graphs.jsonl"):
        verdict = judge(case, gsn_rules.graphs(case), steps_of(case), "rules")
        assert verdict.difference is None, verdict.line()


@pytest.mark.parametrize("mode", MODES)
@given(seed=SEEDS)
def test_runs_are_those_of_the_rules(mode: str, seed: int) -> None:
    case = random_firings(seed, mode)
    case = case.model_copy(update={"expected": gsn_rules.runs(case)})
    for verdict in Firings(cuts=2).run(case).verdicts:
        assert verdict.difference is None, verdict.line()


@given(seed=SEEDS)
def test_graphs_are_those_of_the_rules(seed: int) -> None:
    for verdict in Graphs().run(expecting(random_graph(seed))).verdicts:
        assert verdict.difference is None, verdict.line()


@pytest.mark.parametrize("mode", ["count", "event", "remote_a"])
def test_a_stream_without_tuples_has_no_runs(mode: str) -> None:
    case = random_firings(1, mode)
    case = case.model_copy(update={"tuples": [], "expected": {"firings": []}})
    assert not any(verdict.difference for verdict in Firings(cuts=1).run(case).verdicts)


def test_the_cases_have_what_they_are_drawn_for() -> None:
    seen = Counter[str]()
    for seed in range(120):
        for mode in MODES:
            case = random_firings(seed, mode)
            fired = gsn_rules.runs(case)["firings"]
            seen[f"{mode}: runs"] += bool(fired)
            seen[f"{mode}: empty windows"] += any(one["content"] is None for one in fired)
            seen["slide 1"] += any(query.slide == 1 for query in case.queries)
            for cause in {one.get("cause") for one in fired}:
                seen[f"cause {cause}"] += 1
            seen["windows from before the first tuple"] += any(
                one["content"] and one["content"][0] < case.tuples[0].pos for one in fired
            )
            if isinstance(case, RemoteBCase):
                alive = gsn_rules.runs(case)["final_lambda"]
                seen["dropped timers"] += len(alive) < len({q.slide for q in case.queries})
    assert all(seen[f"{mode}: runs"] > 60 for mode in MODES), seen
    assert all(seen[f"{mode}: empty windows"] for mode in ("local", "event", "remote_b")), seen
    assert all(seen[f"cause {cause}"] for cause in ("tick", "timeout", "tuple", "next_tick")), seen
    assert seen["slide 1"] > 60
    assert seen["windows from before the first tuple"]
    assert seen["dropped timers"] > 20
    decisions = [
        decision["accepted"]
        for seed in range(120)
        for decision in gsn_rules.graphs(random_graph(seed))["optimised"]["log"]
    ]
    assert 20 < sum(decisions) < len(decisions) - 20, decisions
