"""One command with a log, run to its end, or ended when its time is over."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Timer

import psutil

_GRACE_S = 30.0
"""For the clean-up of a command that has to end, before it is killed."""


@dataclass(frozen=True)
class CommandResult:
    """How a command ended.

    Attributes:
        said: its last line of output.
        in_time: whether it ended by itself.
    """

    code: int
    said: str
    in_time: bool = True


def run_command(
    command: Sequence[str],
    log: Path,
    environment: Mapping[str, str] | None = None,
    *,
    until: float | None = None,
    folder: Path | None = None,
) -> CommandResult:
    """Run a command, with its output in a log.

    Args:
        until: when to end it, with all that it started, on the monotonic clock; None: never.
        folder: its working directory; None: this one.
    """
    merged = {**os.environ, **(environment or {})}
    last: deque[str] = deque(maxlen=1)
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=merged,
            text=True,
            errors="replace",
            cwd=folder,
        ) as process,
        _ended_at(until, process) as over,
    ):
        assert process.stdout is not None  # noqa: S101 - it was asked for
        try:
            for line in process.stdout:
                file.write(line)
                file.flush()
                if line.strip():
                    last.append(line.strip())
            process.wait()
        except BaseException:
            process.terminate()
            raise
    return CommandResult(process.returncode, last[0] if last else "", not over.is_set())


@contextlib.contextmanager
def _ended_at(until: float | None, process: subprocess.Popen[str]) -> Iterator[Event]:
    """End a process once its time is over; yield whether that came."""
    over = Event()
    if until is None:
        yield over
        return

    def end() -> None:
        over.set()
        _end(process)

    timer = Timer(max(0.0, until - time.monotonic()), end)
    timer.start()
    try:
        yield over
    finally:
        timer.cancel()
        if over.is_set():
            timer.join()


def _end(process: subprocess.Popen[str]) -> None:
    """End a process, by SIGINT, so that tests stop what they have started; see to it."""
    with contextlib.suppress(psutil.NoSuchProcess):
        family = [*psutil.Process(process.pid).children(recursive=True)]
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
        for one in (left := [one for one in family if one.is_running()]):
            one.terminate()
        _, left = psutil.wait_procs(left, timeout=1.0)
        for one in left:
            one.kill()
        process.kill()
