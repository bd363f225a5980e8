"""Run recorded sliding graphs on our graph and our optimiser."""

from __future__ import annotations

from typing import Any

from conformance.drivers.driver import Outcome
from conformance.gsn.case import GraphCase, LimitsCase
from conformance.gsn.judge import judge
from windowing.research.slides.graph import SlidingGraph, SlidingTree
from windowing.research.slides.optimiser import Decision, Limits, optimise, variants


class Graphs:
    """The sliding graph."""

    name = "graph"

    def run(self, case: GraphCase, /) -> Outcome:
        """Build a graph, optimise it, and change it step by step."""
        graph = SlidingGraph(slide for slide in case.slides if case.in_graph(slide))
        limits = _limits(case.params)
        found = {
            "plain": _plain(case, graph),
            "optimised": _optimised(graph.tree, limits),
        }
        steps = []
        for step in case.steps:
            if case.in_graph(step.slide):
                (graph.add if step.op == "add" else graph.remove)(step.slide)
            steps.append(_tree(graph.tree))
        return Outcome((judge(case, found, steps, self.name),))


def _limits(given: LimitsCase) -> Limits:
    return Limits(
        node=given.theta_l,
        graph=given.theta_g,
        base=given.cf.a,
        per_dummy=given.cf.b,
        passes=None if given.passes == "fix" else given.passes,
        dummies_max=given.max_sigma,
    )


def _tree(tree: SlidingTree) -> dict[str, Any]:
    return {
        "root": tree.root,
        "dummy_root": tree.dummy_root,
        "strong": {str(slide): parent for slide, parent in tree.parents.items()},
        "tests": str(tree.tests),
        "tests_dec": float(tree.tests),
        "pushes": str(tree.pushes),
    }


def _plain(case: GraphCase, graph: SlidingGraph) -> dict[str, Any]:
    return _tree(graph.tree) | {
        "every_tuple": sum(not case.in_graph(slide) for slide in case.slides),
        "nodes": len(graph.nodes),
        "plain_tests": len(graph.nodes),
        "roots": graph.roots,
        "weak": [[*edge] for edge in graph.weak],
    }


def _optimised(tree: SlidingTree, limits: Limits) -> dict[str, Any]:
    found = optimise(tree, limits)
    chains = [(slide, variants(tree, slide, limits.dummies_max)) for slide in sorted(tree.children)]
    return _tree(found.tree) | {
        "dummies": [*found.dummies],
        "sum_opt": str(found.gain),
        "sum_sigma": len(found.dummies),
        "log": [_decision(one, limits) for one in found.log],
        "variants": [
            {
                "node": slide,
                "C0": chain[0].before,
                "variants": [
                    {
                        "sigma": len(one.dummies),
                        "dummies": [*one.dummies],
                        "C1": str(one.after),
                        "O": str(one.gain),
                        "theta": str(one.theta(limits)),
                    }
                    for one in chain
                ],
            }
            for slide, chain in chains
            if chain
        ],
    }


def _decision(decision: Decision, limits: Limits) -> dict[str, Any]:
    variant = decision.variant
    return {
        "pass_no": decision.pass_number,
        "node": variant.slide,
        "sigma": len(variant.dummies),
        "dummies": sorted(variant.dummies),
        "O": str(variant.gain),
        "theta": str(variant.theta(limits)),
        "ratio": str(decision.ratio),
        "accepted": decision.accepted,
    }
