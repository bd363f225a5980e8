"""The recorded sliding graphs, and what makes a case fail."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.cases import CaseError
from conformance.drivers.gsn import judge_graph, judge_runs
from conformance.gsn import GraphCase, RemoteBCase, judge, judge_firings, read_graphs, read_runs
from tests.unit.conformance import gsn_rules
from tests.unit.conformance.gsn_cases import MODES, random_firings, random_graph

CASES = {case.id: case for case in read_graphs(Path("tests/data/gsn/graphs.jsonl"))}
FIGURE = CASES["fixed/paper-fig3"]
DATA = Path("tests/data/gsn")
SEEDS = st.integers(0, 2**32)


def difference(case: GraphCase) -> str | None:
    return judge_graph(case)[0].difference


def test_graphs_are_as_recorded() -> None:
    assert not {name: found for name, case in CASES.items() if (found := difference(case))}


def test_another_cost_is_found() -> None:
    plain = FIGURE.expected["plain"] | {"tests": "7"}
    found = difference(FIGURE.model_copy(update={"expected": {"plain": plain}}))
    assert found == "plain.tests: expected 7, got 4427/660"


def test_another_tree_after_a_step_is_found() -> None:
    steps = [FIGURE.steps[0].model_copy(update={"root": 2}), *FIGURE.steps[1:]]
    found = difference(FIGURE.model_copy(update={"steps": steps}))
    assert found == "step 0.root: expected 2, got 1"


def test_a_value_that_nobody_computes_is_found() -> None:
    plain = FIGURE.expected["plain"] | {"depth": 4}
    found = difference(FIGURE.model_copy(update={"expected": {"plain": plain}}))
    assert found == "plain.depth: expected 4, got nothing"


def test_a_line_that_is_not_a_case_is_named(tmp_path: Path) -> None:
    file = tmp_path / "graphs.jsonl"
    file.write_text(json.dumps(json.loads(FIGURE.model_dump_json()) | {"slides": [0]}))
    with pytest.raises(CaseError, match=r":1: not a case of a sliding graph: slides\.0"):
        list(read_graphs(file))


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
    for case in read_runs(DATA / "firings.jsonl"):
        verdict = judge_firings(case, gsn_rules.runs(case), "rules")
        assert verdict.difference is None, verdict.line()


def test_the_rules_give_the_recorded_graphs() -> None:
    for case in read_graphs(DATA / "graphs.jsonl"):
        verdict = judge(case, gsn_rules.graphs(case), steps_of(case), "rules")
        assert verdict.difference is None, verdict.line()


@pytest.mark.parametrize("mode", MODES)
@given(seed=SEEDS)
def test_runs_are_those_of_the_rules(mode: str, seed: int) -> None:
    case = random_firings(seed, mode)
    case = case.model_copy(update={"expected": gsn_rules.runs(case)})
    for verdict in judge_runs(case, 2):
        assert verdict.difference is None, verdict.line()


@given(seed=SEEDS)
def test_graphs_are_those_of_the_rules(seed: int) -> None:
    for verdict in judge_graph(expecting(random_graph(seed))):
        assert verdict.difference is None, verdict.line()


@pytest.mark.parametrize("mode", ["count", "event", "remote_a"])
def test_a_stream_without_tuples_has_no_runs(mode: str) -> None:
    case = random_firings(1, mode)
    case = case.model_copy(update={"tuples": [], "expected": {"firings": []}})
    assert not any(verdict.difference for verdict in judge_runs(case, 1))


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
