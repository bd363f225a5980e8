"""Judge one mutant after another, and write what became of each as soon as it is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from chaos.mutants.draw import Tree, drawn
from chaos.mutants.judge import Judge
from chaos.mutants.results import Judged, append, read_judged

News = Callable[[str], None]


def judge_drawn(
    tree: Tree, commit: str, folder: Path, number: int, until: float, news: News
) -> Iterator[Judged]:
    """Judge mutants drawn by the commit's hash that have not been judged.

    Args:
        tree: a copy of the commit.
        commit: its hash.
        folder: folder of the file of judgements.
        number: how many to judge.
        until: when to begin no more, on the monotonic clock.
        news: receives each mutant that begins.

    Raises:
        UnsoundError: the tests of a room fail without a mutant.
    """
    judge, known = Judge(tree), read_judged(folder)
    for mutant in drawn(tree, commit):
        if number == 0 or time.monotonic() >= until:
            return
        if (mutant, commit) in known:
            continue
        judge.check(mutant.file)
        with tree.mutated(mutant) as difference:
            if not difference:
                continue
            news(f"{mutant.file}:{mutant.line} {mutant.operator}")
            fate, said = judge.judge(mutant)
        kept = difference if fate == "survived" else ""
        judged = Judged(mutant, commit, commit, fate, said, kept)
        append(judged, folder)
        number -= 1
        yield judged


def judge_survivors(
    tree: Tree, commit: str, folder: Path, number: int, until: float, news: News
) -> Iterator[Judged]:
    """Judge survivors of earlier commits again, by the code and the tests there are now.

    The arguments are those of `judge_drawn`.
    """
    judge = Judge(tree)
    for (mutant, first), one in read_judged(folder).items():
        if number == 0 or time.monotonic() >= until:
            return
        if one.killed or one.judged == commit:
            continue
        news(f"again: {mutant.file}:{mutant.line} {mutant.operator}")
        with tree.patched(mutant, one.difference) as applied:
            fate, said = judge.judge(mutant) if applied else ("gone", "")
        kept = one.difference if fate == "survived" else ""
        judged = Judged(mutant, first, commit, fate, said, kept)
        append(judged, folder)
        number -= 1
        yield judged
