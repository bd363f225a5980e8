"""Judge mutants: each by its room's tests, then by simulated runs."""

from __future__ import annotations

import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from zlib import crc32

from chaos.command import CommandResult, run_command
from chaos.mutants.draw import Mutant, Tree, drawn
from chaos.mutants.results import (
    Fate,
    MutantVerdict,
    append,
    proof_of,
    read_equivalent,
    read_judged,
)
from chaos.mutants.rooms import judges_of

TESTS_S, SIMULATED_S = 60, 180
"""Limits in seconds of CPU, so that a busy machine judges as a quiet one does."""

RUNS = 50
_PATIENCE_S = 1800.0  # on the clock, for what waits without computing
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?:\[.*| - .*)?$", re.MULTILINE)
_BEGUN = re.compile(r"^(\S+::.*?) *\Z", re.MULTILINE)  # a verdict would follow in its line
_NO_TESTS = 5  # pytest's exit code
_TIME_IS_UP = {-signal.SIGXCPU, 128 + signal.SIGXCPU, -signal.SIGKILL}
_SIMULATE = f"""
import os, sys
os.environ["POLARS_MAX_THREADS"] = "1"
from chaos.simulator.simulate import simulate
report = simulate({RUNS}, int(sys.argv[1]), stop_at=1, shrunk=0)
print(*(f"{{one.case.seed}}: {{one.findings[0].check}}" for one in report.failures[:1]))
sys.exit(not report.ok)
"""


class UnsoundError(RuntimeError):
    """What is judged fails without a mutant, so it can judge none."""

    exit_code = 1


@dataclass(frozen=True)
class Sentence:
    """What became of a mutant.

    Attributes:
        fate: killed or not, and by what.
        said: what killed it.
        by: the tests that did, if tests did.
        hung: whether these tests come to no end.
    """

    fate: Fate
    said: str = ""
    by: tuple[str, ...] = ()
    hung: bool = False


Tests = Callable[[str], tuple[str, ...]]


class Judge:
    """Judges the mutants of one tree.

    Args:
        simulate: Python that simulates runs with the seed that it gets, and fails if one does.
    """

    def __init__(self, tree: Tree, tests: Tests = judges_of, simulate: str = _SIMULATE) -> None:
        self._tree, self._tests, self._simulate = tree, tests, simulate

    def judge(self, mutant: Mutant) -> Sentence:
        """Judge a mutant that has been applied to the tree."""
        ended, log = self._test(self._tests(mutant.file))
        if _failed(ended, {0, _NO_TESTS, *_TIME_IS_UP}):
            found = _FAILED.search(log)
            by = (found[1],) if found else self._tests(mutant.file)
            return Sentence("killed by tests", " ".join(by), by)
        # Most rooms' tests take less: time may be up because one of them alone takes it all.
        if ended.code in _TIME_IS_UP and (begun := _BEGUN.search(log)):
            by = (begun[1],)
            alone, _ = self._test(by)
            if alone.code in _TIME_IS_UP:
                return Sentence("killed by tests", f"{by[0]} does not end", by, hung=True)
        ended, _ = self._run(self._runs(mutant), SIMULATED_S)
        if not _failed(ended, {0}):
            return Sentence("survived")
        hung = ended.code in _TIME_IS_UP or not ended.in_time
        return Sentence("killed by simulation", "the runs do not end" if hung else ended.said)

    def confirm(self, mutant: Mutant, sentence: Sentence) -> None:
        """See to it that what killed a mutant passes without it.

        Raises:
            UnsoundError: it does not, so it can judge none.
        """
        if sentence.fate == "killed by tests":
            ended, _ = self._test(sentence.by)
            sound = not _failed(ended, {0} if sentence.hung else {0, *_TIME_IS_UP})
        elif sentence.fate == "killed by simulation":
            ended, _ = self._run(self._runs(mutant), SIMULATED_S)
            sound = not _failed(ended, {0})
        else:
            return
        if not sound:
            msg = f"{sentence.said}: fails without a mutant, and can judge none: {ended.said}"
            raise UnsoundError(msg)

    def _runs(self, mutant: Mutant) -> Sequence[str]:
        return (sys.executable, "-c", self._simulate, str(_seed(mutant)))

    def _test(self, tests: Sequence[str]) -> tuple[CommandResult, str]:
        options = ("-x", "-v", "-ra", "-p", "no:cacheprovider", "--timeout=0")
        return self._run((sys.executable, "-m", "pytest", *options, *tests), TESTS_S)

    def _run(self, command: Sequence[str], cpu_s: int) -> tuple[CommandResult, str]:
        limited = ("sh", "-c", f'ulimit -t {cpu_s}; exec "$@"', "sh", *command)
        with tempfile.TemporaryDirectory() as folder:
            log, until = Path(folder) / "log", time.monotonic() + _PATIENCE_S
            ended = run_command(limited, log, until=until, folder=self._tree.folder)
            return ended, log.read_text(encoding="utf-8")


def _failed(ended: CommandResult, sound: AbstractSet[int]) -> bool:
    return ended.code not in sound or not ended.in_time


def _seed(mutant: Mutant) -> int:
    """Return the seed of a mutant's runs: others for each, the same again."""
    return crc32(f"{mutant.file} {mutant.operator} {mutant.occurrence}".encode())


@dataclass(frozen=True)
class Bench:
    """Judges the mutants of a commit.

    Attributes:
        folder: folder of the file of judgements.
        news: receives each mutant that begins.
    """

    tree: Tree
    commit: str
    folder: Path
    news: Callable[[str], None]
    judge: Judge

    def run(self, number: int, until: float, *, again: bool = False) -> Iterator[MutantVerdict]:
        """Judge mutants, and write down what became of each.

        Args:
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
