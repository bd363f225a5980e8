"""Mutants of a toy product, drawn by cosmic-ray and judged by a toy's tests and runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from chaos.mutants import draw
from chaos.mutants.draw import Mutant, Tree, copy_of, drawn
from chaos.mutants.judge import Judge, Sentence, UnsoundError
from chaos.mutants.results import (
    Equivalent,
    Judged,
    append,
    proof_of,
    read_equivalent,
    read_judged,
    score,
)
from chaos.mutants.rooms import PRODUCT, ROOMS, judges_of
from chaos.mutants.run import Bench
from chaos.nightly.verdicts import page_of

TOY = '''from __future__ import annotations


def larger(left: int | None, right: int) -> bool:
    """Compare."""
    return left > right


def unseen(n):
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
installed = pytest.mark.skipif(not draw._COSMIC_RAY.exists(), reason="needs `make setup-mutants`")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tree]:
    """A copy of a commit of the toy product."""
    home = tmp_path / "home"
    for name, content in {
        "windowing/engine/toy.py": TOY,
        "windowing/__init__.py": "",
        "windowing/engine/__init__.py": "",
        "tests/test_toy.py": TESTS,
        "pytest.ini": "[pytest]\nmarkers =\n"
        + "".join(
            f"    {marker}\n"
            for marker in ("spark", "kafka", "stack", "slow", "nightly", "ui", "containers")
        ),
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
    return Judge(tree, lambda _: ("tests/test_toy.py",), (sys.executable, "-c", RUNS))


@installed
def test_a_mutant_is_applied_to_the_copy_alone_and_taken_back(tree: Tree) -> None:
    file = tree.folder / COMPARED.file
    with tree.mutated(COMPARED) as difference:
        assert "-    return left > right\n+    return left >= right\n" in difference
        assert "left >= right" in file.read_text()
        assert Path(COMPARED.file).read_text() == TOY
    assert file.read_text() == TOY
    with tree.patched(COMPARED, difference) as applied:
        assert applied
        assert "left >= right" in file.read_text()
    file.write_text(TOY.replace("left > right", "right < left"))
    with tree.patched(COMPARED, difference) as applied:
        assert not applied


@installed
def test_annotations_make_no_mutant(tree: Tree) -> None:
    annotated = Mutant(COMPARED.file, 4, "core/ReplaceBinaryOperator_BitOr_Add", 0)
    with tree.mutated(annotated) as difference:
        assert difference == ""


@installed
def test_the_hash_of_a_commit_draws_the_same_mutants_again(tree: Tree) -> None:
    first = [*islice(drawn(tree, "abc"), 8)]
    assert first == [*islice(drawn(tree, "abc"), 8)]
    assert first != [*islice(drawn(tree, "abd"), 8)]
    assert len(set(first)) == 8
    assert {mutant.line for mutant in first} == {4, 6, 10}


@installed
def test_tests_kill_first_then_simulated_runs_and_the_rest_survives(tree: Tree) -> None:
    bench = judge(tree)
    with tree.mutated(COMPARED):
        by_tests = bench.judge(COMPARED)
    assert by_tests.fate == "killed by tests"
    assert by_tests.by == ("tests/test_toy.py::test_larger",)
    bench.confirm(COMPARED, by_tests)
    other = Mutant(ADDED.file, 10, "core/ReplaceBinaryOperator_Add_Sub", 0)
    with tree.mutated(other):  # 0
        assert bench.judge(other).fate == "killed by simulation"
    with tree.mutated(ADDED):  # 1
        assert bench.judge(ADDED) == Sentence("survived")


@installed
def test_what_fails_without_a_mutant_judges_none(tree: Tree) -> None:
    test = tree.folder / "tests" / "test_toy.py"
    test.write_text(TESTS.replace("assert larger", "assert not larger"))
    bench = judge(tree)
    with pytest.raises(UnsoundError, match="test_larger: fails without a mutant"):
        bench.confirm(COMPARED, bench.judge(COMPARED))


@installed
def test_a_run_goes_on_where_the_last_one_ended(tree: Tree, tmp_path: Path) -> None:
    def run(commit: str, number: int, *, again: bool = False) -> list[Mutant]:
        bench = Bench(tree, commit, tmp_path, lambda _: None, judge(tree))
        return [one.mutant for one in bench.run(number, float("inf"), again=again)]

    first = run("abc", 3)
    then = run("abc", 2)
    assert not set(first) & set(then)
    known = read_judged(tmp_path)
    assert [one.mutant for one in known] == first + then
    assert all(one.killed != bool(one.difference) for one in known)
    survivors = [one.mutant for one in known if not one.killed]
    assert survivors
    # A test that was missing is there now.
    test = tree.folder / "tests" / "test_toy.py"
    test.write_text(TESTS.replace("larger\n", "larger, unseen\n", 1) + UNSEEN)
    assert run("abd", 9, again=True) == survivors
    assert all(one.killed for one in read_judged(tmp_path))


def test_the_page_has_killed_of_all_and_every_survivor(tmp_path: Path) -> None:
    change = "-    return n + 1\n+    return n * 1"
    difference = f"--- a/x\n+++ b/x\n@@ -9,2 +9,2 @@\n def unseen(n):\n{change}\n"
    killed = Judged(COMPARED, "abc", "abc", "killed by tests", "tests/test_toy.py::test_larger")
    survivor = Judged(ADDED, "abc", "abc", "survived", "", difference)
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
    append(Judged(ADDED, "abc", "abd", "gone"), tmp_path)
    assert read_judged(tmp_path) == [killed]
    append(Judged(ADDED, "abc", "abe", "killed by tests"), tmp_path)
    assert score(read_judged(tmp_path)) == "2 of 2 killed (100.0 %)"


def test_every_file_of_the_product_has_a_room_with_tests_that_are_there() -> None:
    for room, tests in ROOMS.items():
        assert Path(room).exists()
        assert all(Path(test).exists() for test in tests), room
    files = [file for room in PRODUCT for file in Path(room).rglob("*.py")]
    assert len(files) > 100
    for file in files:
        assert judges_of(file.as_posix())
    assert judges_of("windowing/engine/families/wide.py")[0] == "tests/engine/families"
    assert judges_of("windowing/engine/shard.py")[0] == "tests/engine/test_state.py"


def test_every_exclusion_has_a_proof() -> None:
    for one in read_equivalent():
        assert Path(one.file).exists()
        assert len(one.proof.split()) > 5
