"""Judge mutants: each by its room's tests, then by simulated runs."""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from zlib import crc32

from chaos.command import Ended, run_command
from chaos.mutants.draw import Mutant, Tree
from chaos.mutants.results import Fate
from chaos.mutants.rooms import tests_of

TESTS_S, SIMULATED_S = 60, 180
"""Limits in seconds of CPU, so that a busy machine judges as a quiet one does."""

RUNS = 50
_PATIENCE_S = 900.0  # on the clock, for what waits without computing
_TIER_1 = " and ".join(
    f"not {marker}" for marker in ("spark", "kafka", "stack", "slow", "nightly", "ui", "containers")
)
_NO_TESTS = 5  # pytest's exit code
_TIME_IS_UP = {-signal.SIGXCPU, 128 + signal.SIGXCPU, -signal.SIGKILL}
_SOUND = {0, 3}  # 3: in so few runs, some fault may not take effect


class UnsoundError(RuntimeError):
    """What is judged fails without a mutant, so it can judge none."""

    exit_code = 1


Tests = Callable[[str], Sequence[str]]


class Judge:
    """Judges the mutants of one tree.

    Args:
        tree: the copy of the commit.
        tests: chooses the tests of a file.
        simulate: the command that simulates runs, without its seed.
    """

    def __init__(
        self, tree: Tree, tests: Tests = tests_of, simulate: Sequence[str] | None = None
    ) -> None:
        self._tree, self._tests = tree, tests
        runs = ("chaos", "simulate", "--runs", str(RUNS), "--jobs", "1")
        self._simulate = simulate or (sys.executable, "-m", "slackwater.main", *runs)
        self._sound: set[str] = set()

    def judge(self, mutant: Mutant) -> tuple[Fate, str]:
        """Judge a mutant that has been applied to the tree.

        Returns:
            what became of it, and the last line of what killed it.
        """
        ended = self._test(mutant.file)
        if ended.code not in {0, _NO_TESTS, *_TIME_IS_UP} and ended.in_time:
            return "killed by tests", ended.said
        ended = self._run((*self._simulate, "--seed", str(_seed(mutant))), SIMULATED_S)
        if ended.code in _SOUND and ended.in_time:
            return "survived", ""
        hung = ended.code in _TIME_IS_UP or not ended.in_time
        return "killed by simulation", "the runs do not end" if hung else ended.said

    def check(self, file: str) -> None:
        """See to it that what judges a file's mutants passes without one; once for each set.

        Raises:
            UnsoundError: it does not.
        """
        tests = " ".join(self._tests(file))
        if tests in self._sound:
            return
        ended = self._test(file)
        if ended.code not in {0, _NO_TESTS, *_TIME_IS_UP} or not ended.in_time:
            msg = f"{tests}: fail without a mutant, and can judge none: {ended.said}"
            raise UnsoundError(msg)
        self._sound.add(tests)

    def _test(self, file: str) -> Ended:
        options = ("-x", "-q", "-p", "no:cacheprovider", "--timeout=0", "-m", _TIER_1)
        command = (sys.executable, "-m", "pytest", *options, *self._tests(file))
        return self._run(command, TESTS_S)

    def _run(self, command: Sequence[str], cpu_s: int) -> Ended:
        limited = ("sh", "-c", f'ulimit -t {cpu_s}; exec "$@"', "sh", *command)
        with tempfile.NamedTemporaryFile() as log:
            until = time.monotonic() + _PATIENCE_S
            return run_command(limited, Path(log.name), until=until, folder=self._tree.folder)


def _seed(mutant: Mutant) -> int:
    """Return the seed of a mutant's runs: others for each, the same again."""
    return crc32(f"{mutant.file} {mutant.operator} {mutant.occurrence}".encode())
