"""A changed graph is the graph of the queries that are left; a tree finds what is due."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windowing.research.slides.graph import SlidingGraph, SlidingTree
from windowing.research.slides.optimiser import Limits, optimise

SLIDES = st.lists(st.integers(1, 40), max_size=12)
ANY_PASS = Limits(passes=None)


def due(tree: SlidingTree, position: int) -> tuple[list[int], int]:
    """The slides that a walk finds due at a position, dummies included, and how many it tests."""
    if tree.root is None:
        return [], 0
    found, tests = [], 1
    waiting = [tree.root] if position % tree.root == 0 else []
    while waiting:
        slide = waiting.pop()
        found.append(slide)
        below = tree.children.get(slide, [])
        tests += len(below)
        waiting += [one for one in below if position % one == 0]
    return found, tests


@given(slides=SLIDES, leaving=st.randoms(use_true_random=False))
def test_a_changed_graph_is_that_of_the_queries_left(slides: list[int], leaving) -> None:  # type: ignore[no-untyped-def]
    graph = SlidingGraph(slides)
    left = [*slides]
    leaving.shuffle(left)
    while left:
        graph.remove(left.pop())
        rebuilt = SlidingGraph(left)
        assert (graph.tree, graph.weak, graph.nodes) == (
            rebuilt.tree,
            rebuilt.weak,
            rebuilt.nodes,
        )


@given(slides=SLIDES.filter(bool), position=st.integers(1, 10_000), optimised=st.booleans())
def test_a_walk_finds_exactly_the_slides_that_are_due(
    slides: list[int], position: int, optimised: bool
) -> None:
    tree = SlidingGraph(slides).tree
    tree = optimise(tree, ANY_PASS).tree if optimised else tree
    found, _ = due(tree, position)
    assert set(found) & set(slides) == {slide for slide in slides if position % slide == 0}
    assert len(found) == len(set(found))


@given(slides=st.lists(st.sampled_from([2, 3, 4, 6, 8, 9, 10, 12, 15, 20]), min_size=1))
def test_the_cost_is_that_of_a_whole_period(slides: list[int]) -> None:
    tree = optimise(SlidingGraph(slides).tree, ANY_PASS).tree
    period = lcm(*slides)
    walks = [due(tree, position) for position in range(1, period + 1)]
    assert tree.tests == Fraction(sum(tests for _, tests in walks), period)
    assert tree.pushes == Fraction(sum(len(found) for found, _ in walks), period)


@given(slides=SLIDES)
def test_dummies_never_cost_tests(slides: list[int]) -> None:
    tree = SlidingGraph(slides).tree
    assert optimise(tree, ANY_PASS).tree.tests <= tree.tests


def test_what_is_accepted_is_in_the_tree() -> None:
    found = optimise(SlidingGraph([12, 18, 20, 30, 45]).tree, ANY_PASS)
    assert found.dummies == (3, 15)
    assert found.tree.tests == Fraction(62, 15)


def test_a_slide_must_be_positive() -> None:
    with pytest.raises(ValueError, match="a slide of 0 is not positive"):
        SlidingGraph([0])


def test_a_query_that_never_joined_cannot_leave() -> None:
    with pytest.raises(KeyError, match="no query has a slide of 3"):
        SlidingGraph([2]).remove(3)
