"""Flink's SQL windows as a box: a program in Flink's own environment, asked line by line."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from infra.errors import InfraError
from infra.layout import FLINK_VENV
from windowing.research.engines.parameters import Domain, StreamTuple
from windowing.research.prober.experiments import Answer, Input, Refused, Size

_PROGRAM = Path(__file__).with_name("flink_program.py")
_SAID_MAX = 2_000


class FlinkWindows:
    """Windows of event time in Flink SQL, with a watermark after each tuple.

    Args:
        windows: `tvf`: table functions (TUMBLE, HOP); `group`: GROUP BY HOP, as before them.
        said: where the program writes what it has to say.
    """

    def __init__(self, process: subprocess.Popen[str], windows: str, said: IO[bytes]) -> None:
        self._process, self._windows, self._said = process, windows, said
        self.version = str(self._next()["version"])

    def run(self, domain: Domain, asked: Size, stream: Sequence[StreamTuple]) -> Answer:
        """Run tuples through their own job."""
        return self.run_all(domain, [(asked, stream)])[0]

    def run_all(self, domain: Domain, inputs: Sequence[Input]) -> list[Answer]:
        """Run inputs for one size of windows side by side in one job, which share nothing.

        Raises:
            Refused: Flink takes no such windows.
            InfraError: the program has ended.
        """
        if domain is not Domain.time:
            msg = "Flink SQL has no windows of tuples"
            raise Refused(msg)
        (asked,) = {(size.size, size.slide) for size, _ in inputs}
        task = {
            "windows": self._windows,
            "size": asked[0],
            "slide": asked[1],
            "inputs": [[one.time for one in stream] for _, stream in inputs],
        }
        reply = self._asked(task)
        if "refused" in reply:
            raise Refused(reply["refused"])
        return [
            _by_tuple(rows, stream) for rows, (_, stream) in zip(reply["rows"], inputs, strict=True)
        ]

    def _asked(self, task: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        self._process.stdin.write(json.dumps(task) + "\n")
        self._process.stdin.flush()
        return self._next()

    def _next(self) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        line = self._process.stdout.readline()
        if not line:
            self._said.seek(0)
            end = self._said.read()[-_SAID_MAX:].decode(errors="replace")
            msg = f"Flink's program has ended with code {self._process.wait()}: {end}"
            raise InfraError(msg)
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def flink_windows(windows: str) -> Iterator[FlinkWindows]:
    """Start Flink's program for a box, and end it afterwards.

    Raises:
        InfraError: Flink is not set up.
    """
    python = FLINK_VENV / "bin" / "python"
    if not python.exists():
        msg = f"Flink is not installed in {FLINK_VENV}: run make setup-flink in a checkout"
        raise InfraError(msg)
    # Flink's own temporary files are deleted with ours, however it ends.
    with (
        tempfile.TemporaryDirectory(prefix="slackwater-probe-", ignore_cleanup_errors=True) as own,
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            [python, _PROGRAM, own],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            env=_environment(python, own),
            text=True,
        ) as process,
    ):
        try:
            yield FlinkWindows(process, windows, said)
        except BaseException:
            process.terminate()  # its JVM ends with it
            raise
        assert process.stdin is not None  # noqa: S101 - it was asked for
        process.stdin.close()  # there are no more questions


def _environment(python: Path, folder: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    tmp = {"TMPDIR": folder, "JVM_ARGS": f"-Djava.io.tmpdir={folder}"}
    return {**kept, **tmp, "FLINK_PYTHON": str(python)}


def _by_tuple(rows: Sequence[Any], stream: Sequence[StreamTuple]) -> Answer:
    """Return what came after each tuple; what came at the end of the input is left out."""
    answers: list[list[list[int]]] = [[] for _ in stream]
    for after, numbers in rows:
        if after is not None:
            answers[after - 1].append(sorted(numbers))
    return answers
