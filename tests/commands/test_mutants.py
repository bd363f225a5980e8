"""Mutants of a toy product, drawn by cosmic-ray and judged by a toy's tests and runs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.mutants import judge as judging
from chaos.mutants.draw import Mutant, Tree, copy_of
from chaos.mutants.judge import Bench, Judge, Sentence, UnsoundError
from chaos.mutants.results import (
    Equivalent,
    MutantVerdict,
    append,
    proof_of,
    read_equivalent,
    read_judged,
    score,
)
from chaos.mutants.rooms import PRODUCT, ROOMS, judges_of
from chaos.nightly.verdicts import page_of

TOY = '''from __future__ import annotations


def larger(left: int | None, right: int) -> bool:
    """Compare."""
    return left > right


def unseen(n, *, more=0):
    return n + 1
'''
TESTS = """
from windowing.engine.toy import larger


def test_larger():
    assert larger(2, 1)
    assert not larger(1, 1)
"""
UNSEEN = """

def test_unseen():
    assert unseen(5) == 6
"""
# As simulated runs do: the seed is an argument, and the exit code says how it went.
RUNS = "from windowing.engine.toy import unseen; raise SystemExit(unseen(1) not in (2, 1))"
COMPARED = Mutant("windowing/engine/toy.py", 6, "core/ReplaceComparisonOperator_Gt_GtE", 0)
ADDED = Mutant("windowing/engine/toy.py", 10, "core/ReplaceBinaryOperator_Add_Mul", 0)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tree]:
    """A copy of a commit of the toy product."""
    home = tmp_path / "home"
    for name, content in {
        "windowing/engine/toy.py": TOY,
        "windowing/__init__.py": "",
        "windowing/engine/__init__.py": "",
        "tests/test_toy.py": TESTS,
    }.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(content)
    monkeypatch.chdir(home)
    you = ("-c", "user.name=toy", "-c", "user.email=toy@example.org")
    for command in (["init", "-q"], ["add", "."], [*you, "commit", "-qm", "toy: all of it"]):
        subprocess.run(["git", *command], check=True)
    with copy_of("HEAD") as tree:
        yield tree


def judge(tree: Tree) -> Judge:
    return Judge(tree, lambda _: ("tests/test_toy.py",), RUNS)


def by_hand(mutant: Mutant, before: str, after: str) -> str:
    """A mutant's difference, as `difflib` writes it."""
    lines = TOY.splitlines()
    at = lines.index(before)
    around = [f" {lines[at - 1]}", f"-{before}", f"+{after}"]
    head = [f"--- a/{mutant.file}", f"+++ b/{mutant.file}", f"@@ -{at},2 +{at},2 @@"]
    return "\n".join([*head, *around]) + "\n"


LARGER_OR_EQUAL = by_hand(COMPARED, "    return left > right", "    return left >= right")
TIMES = by_hand(ADDED, "    return n + 1", "    return n * 1")
MINUS = by_hand(ADDED, "    return n + 1", "    return n - 1")
ENDLESS = by_hand(COMPARED, "    return left > right", "    while left: pass")


def test_tests_kill_first_then_simulated_runs_and_the_rest_survives(tree: Tree) -> None:
    bench = judge(tree)
    with tree.patched(COMPARED, LARGER_OR_EQUAL) as applied:
        assert applied
        by_tests = bench.judge(COMPARED)
    assert by_tests.fate == "killed by tests"
    assert by_tests.by == ("tests/test_toy.py::test_larger",)
    bench.confirm(COMPARED, by_tests)
    with tree.patched(ADDED, MINUS):  # 0
        by_runs = bench.judge(ADDED)
    assert by_runs.fate == "killed by simulation"
    bench.confirm(ADDED, by_runs)
    with tree.patched(ADDED, TIMES):  # 1
        assert bench.judge(ADDED) == Sentence("survived")
    assert (tree.folder / ADDED.file).read_text() == TOY


def test_a_test_that_comes_to_no_end_has_killed(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "TESTS_S", 2)
    bench = judge(tree)
    with tree.patched(COMPARED, ENDLESS) as applied:
        assert applied
        found = bench.judge(COMPARED)
    assert (found.fate, found.by) == ("killed by tests", ("tests/test_toy.py::test_larger",))
    assert found.said == "tests/test_toy.py::test_larger does not end"
    bench.confirm(COMPARED, found)
    with tree.patched(COMPARED, ENDLESS), pytest.raises(UnsoundError, match="fails without"):
        bench.confirm(COMPARED, found)


def test_what_fails_without_a_mutant_judges_none(tree: Tree) -> None:
    test = tree.folder / "tests" / "test_toy.py"
    test.write_text(TESTS.replace("assert larger", "assert not larger"))
    bench = judge(tree)
    with pytest.raises(UnsoundError, match="test_larger: fails without a mutant"):
        bench.confirm(COMPARED, bench.judge(COMPARED))


def test_survivors_are_judged_again_by_the_tests_of_now(tree: Tree, tmp_path: Path) -> None:
    """But for those with a proof, and those that they have judged."""
    gone = Mutant(ADDED.file, 11, ADDED.operator, 1)
    lost = TIMES.replace("return n + 1", "return n + 2")
    append(MutantVerdict(COMPARED, "abc", "abc", "killed by tests"), tmp_path)
    append(MutantVerdict(ADDED, "abc", "abc", "survived", "", TIMES), tmp_path)
    append(MutantVerdict(gone, "abc", "abc", "survived", "", lost), tmp_path)
    judged = Mutant(ADDED.file, ADDED.line, ADDED.operator, 7)
    append(MutantVerdict(judged, "abc", "abd", "survived", "", TIMES), tmp_path)
    same = read_equivalent()[-1]
    proved = Mutant(same.file, 1, ADDED.operator, 2)
    append(
        MutantVerdict(proved, "abc", "abc", "survived", "", f"---\n+++\n{same.change}"), tmp_path
    )
    test = tree.folder / "tests" / "test_toy.py"
    test.write_text(TESTS.replace("larger\n", "larger, unseen\n", 1) + UNSEEN)
    bench = Bench(tree, "abd", tmp_path, lambda _: None, judge(tree))
    found = [*bench.run(9, float("inf"), again=True)]
    assert [one.fate for one in found] == ["killed by tests", "gone"]
    assert [one.mutant for one in read_judged(tmp_path)] == [COMPARED, ADDED, judged, proved]
    assert [one.killed for one in read_judged(tmp_path)] == [True, True, False, False]


def test_the_page_has_killed_of_all_and_every_survivor(tmp_path: Path) -> None:
    change = "-    return n + 1\n+    return n * 1"
    difference = f"--- a/x\n+++ b/x\n@@ -9,2 +9,2 @@\n def unseen(n):\n{change}\n"
    killed = MutantVerdict(
        COMPARED, "abc", "abc", "killed by tests", "tests/test_toy.py::test_larger"
    )
    survivor = MutantVerdict(ADDED, "abc", "abc", "survived", "", difference)
    for one in (killed, survivor):
        append(one, tmp_path)
    known = read_judged(tmp_path)
    assert known == [killed, survivor]
    assert score(known) == "1 of 2 killed (50.0 %)"
    page = page_of([], known)
    assert "**1 of 2 killed (50.0 %)**" in page
    assert "`windowing/engine/toy.py:10`" in page
    assert f"```diff\n{change}\n```" in page
    excluded = Equivalent(ADDED.file, change, "n is always 1.")
    assert proof_of(survivor, [excluded]) == "n is always 1."
    assert (
        proof_of(survivor, [Equivalent("windowing/engine/other.py", change, "n is always 1.")])
        == ""
    )
    append(MutantVerdict(ADDED, "abc", "abd", "gone"), tmp_path)
    assert read_judged(tmp_path) == [killed]
    append(MutantVerdict(ADDED, "abc", "abe", "killed by tests"), tmp_path)
    assert score(read_judged(tmp_path)) == "2 of 2 killed (100.0 %)"


def test_every_file_of_the_product_has_a_room_with_tests_that_are_there() -> None:
    for room, tests in ROOMS.items():
        assert Path(room).exists()
        assert all(Path(test).exists() for test in tests), room
    files = [file for room in PRODUCT for file in Path(room).rglob("*.py")]
    assert len(files) > 100
    for file in files:
        assert judges_of(file.as_posix())
    shared = judges_of("windowing/engine/families/wide.py")
    assert shared[0] == "tests/unit/engine/test_families.py"
    store = judges_of("windowing/engine/storage/state.py")
    assert store[0] == "tests/unit/engine/storage/test_state.py"


def test_every_exclusion_has_a_proof() -> None:
    for one in read_equivalent():
        assert Path(one.file).exists()
        assert len(one.proof.split()) > 5
