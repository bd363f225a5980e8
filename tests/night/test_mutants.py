"""Mutants of the toy product that cosmic-ray draws: `make setup-mutants`."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from chaos.mutants.draw import Mutant, Tree, drawn
from chaos.mutants.judge import Bench
from chaos.mutants.results import read_judged
from tests.commands.test_mutants import COMPARED, TOY, judge, tree  # noqa: F401 - a fixture


def test_mutants_are_drawn_applied_to_a_copy_and_judged_once(tree: Tree, tmp_path: Path) -> None:
    def run(number: int) -> list[Mutant]:
        bench = Bench(tree, "abc", tmp_path, lambda _: None, judge(tree))
        return [one.mutant for one in bench.run(number, float("inf"))]

    first = run(2)
    then = run(1)  # goes on where the last one ended
    known = read_judged(tmp_path)
    assert [one.mutant for one in known] == first + then
    assert all(one.killed != bool(one.difference) for one in known)
    # The same hash draws the same: what differs in annotations only, or is no Python, is left out.
    passed: list[Mutant] = []
    for mutant in islice(drawn(tree, "abc"), 12):
        with tree.mutated(mutant) as difference:
            assert Path(mutant.file).read_text() == TOY
            assert (difference == "") == (mutant.line in (4, 9))
            assert (tree.folder / mutant.file).read_text() != TOY
        passed += [mutant] if difference else []
        if len(passed) == 3:
            break
    assert passed == first + then
    assert (tree.folder / COMPARED.file).read_text() == TOY
