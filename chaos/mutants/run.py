"""Judge one mutant after another, and write what became of each as soon as it is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from chaos.mutants.draw import Mutant, Tree, drawn
from chaos.mutants.judge import Judge, Sentence
from chaos.mutants.results import MutantVerdict, append, proof_of, read_equivalent, read_judged


@dataclass(frozen=True)
class Bench:
    """Judges the mutants of a commit.

    Attributes:
        tree: a copy of the commit.
        commit: its hash.
        folder: folder of the file of judgements.
        news: receives each mutant that begins.
        judge: what judges.
    """

    tree: Tree
    commit: str
    folder: Path
    news: Callable[[str], None]
    judge: Judge

    def run(self, number: int, until: float, *, again: bool = False) -> Iterator[MutantVerdict]:
        """Judge mutants, and write down what became of each.

        Args:
            number: how many to judge.
            until: when to begin no more, on the monotonic clock.
            again: whether to judge the survivors of earlier commits again, by the code and the
                tests there are now, but for those with a proof; else mutants are drawn by the
                commit's hash.

        Raises:
            UnsoundError: what killed a mutant fails without it.
        """
        for judged in islice(self._again() if again else self._drawn(), number):
            append(judged, self.folder)
            yield judged
            if time.monotonic() >= until:
                return

    def _drawn(self) -> Iterator[MutantVerdict]:
        known = {(one.mutant, one.drawn) for one in read_judged(self.folder)}
        for mutant in drawn(self.tree, self.commit):
            if (mutant, self.commit) in known:
                continue
            with self.tree.mutated(mutant) as difference:
                if not difference:
                    continue
                self.news(f"{mutant.file}:{mutant.line} {mutant.operator}")
                sentence = self.judge.judge(mutant)
            yield self._written(mutant, self.commit, sentence, difference)

    def _again(self) -> Iterator[MutantVerdict]:
        equivalent = read_equivalent()
        for one in read_judged(self.folder):
            mutant = one.mutant
            if one.killed or one.judged == self.commit or proof_of(one, equivalent):
                continue
            self.news(f"again: {mutant.file}:{mutant.line} {mutant.operator}")
            with self.tree.patched(mutant, one.difference) as applied:
                sentence = self.judge.judge(mutant) if applied else Sentence("gone")
            yield self._written(mutant, one.drawn, sentence, one.difference)

    def _written(
        self, mutant: Mutant, first: str, sentence: Sentence, difference: str
    ) -> MutantVerdict:
        self.judge.confirm(mutant, sentence)
        kept = difference if sentence.fate == "survived" else ""
        return MutantVerdict(mutant, first, self.commit, sentence.fate, sentence.said, kept)
