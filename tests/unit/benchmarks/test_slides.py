"""The experiments on sliding managers, at a size that takes seconds."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks import slides
from benchmarks.slides import Extent
from benchmarks.slides_measured import (
    ALPHAS,
    SLIDES_MS,
    WAYS,
    Size,
    accuracy,
    compare,
    count,
    counted,
    measure,
    queries_of,
    ratios,
    slides_of,
)
from windowing.research.slides.graph import SlidingGraph, SlidingTree
from windowing.research.slides.schedules import Calendar, DueSlides

TINY = Extent(queries=(5, 40), rounds=1, tuples=1_000, seeds=1, counted=500, draws=10, stream=40)
SMALL = Size(queries=40, largest=30)


class Forgetful(Calendar):
    """A calendar that misses the last of what is due."""

    def between(self, after: int, until: int) -> DueSlides:
        due = super().between(after, until)
        return DueSlides(due.instants[:-1], due.slides[:-1])


def test_every_way_is_measured_in_every_round() -> None:
    cell = measure(SMALL, rounds=2, tuples=1_000)
    for took in (cell.checks, cell.ids):
        assert set(took) == set(WAYS)
        assert all(len(ratios(took, way)) == 2 for way in WAYS)
        assert all(seconds > 0 for each in took.values() for seconds in each)


def test_a_way_with_other_runs_is_named() -> None:
    drawn = slides_of(SMALL, seed=0)
    queries = {"plain": queries_of(drawn, WAYS["plain"]()), "lost": queries_of(drawn, Forgetful())}
    with pytest.raises(RuntimeError, match="lost does not give the runs of plain"):
        compare(queries, SMALL)


def test_operations_are_those_of_the_formulas() -> None:
    """By hand, over 12 tuples: 2 is due 6 times, and each time 4 and 6 are tested."""
    tree = SlidingGraph([2, 4, 6]).tree
    found = counted(tree, frozenset({2, 4, 6}), tuples=12)
    assert (found.tests, found.pushes) == (12 / 12 + 2 * 6 / 12, (6 + 3 + 2) / 12)
    assert (tree.tests, tree.pushes) == (Fraction(2), Fraction(11, 12))
    assert found.off == pytest.approx(0)


def test_a_tree_that_is_walked_otherwise_is_found() -> None:
    wrong = SlidingTree(2, None, {3: 2})
    with pytest.raises(RuntimeError, match="a walk makes"):
        counted(wrong, frozenset({2, 3}), tuples=12)


@pytest.mark.parametrize("largest", [200, 800])
def test_optimised_graphs_never_need_more_tests(largest: int) -> None:
    _, trees = count(Size(100, largest), seeds=2, tuples=2_000)
    graph, all_of_them, fewer = trees.values()
    assert all_of_them.tests <= fewer.tests <= graph.tests
    assert all_of_them.tests < graph.tests


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("slide_ms", SLIDES_MS)
def test_timers_are_three_times_as_exact_as_tuples(slide_ms: int, alpha: float) -> None:
    by_tuples = accuracy(None, slide_ms, tuples=18, draws=60, first=6)
    by_timers = accuracy(alpha, slide_ms, tuples=18, draws=60, first=6)
    assert by_tuples.error_s >= 3 * by_timers.error_s
    assert abs(by_timers.mean_s - slide_ms / 1_000) < 2


def test_the_page_gets_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "slides.md"
    page.write_text(slides.DOCUMENT.read_text())
    monkeypatch.setattr(slides, "DOCUMENT", page)
    monkeypatch.setattr(slides, "PICTURES", tmp_path)
    monkeypatch.setattr(slides, "LARGEST", (20, 30))
    for number in slides.EXPERIMENTS:
        slides.write(number, TINY)
    text = page.read_text()
    assert "| 30 | 40 |" in text
    assert "| B, in the paper | 3:13.0 | 5:12.0 | 15.0 s | 17.0 s |" in text
    assert {one.name for one in tmp_path.glob("*.png")} == {
        f"slides_experiment_{number}.png" for number in (1, 2, 3)
    }
