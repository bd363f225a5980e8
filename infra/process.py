"""Daemons as operating system processes: start, identify and stop them and their children.

A pid alone is not an identity: the system reuses it. A `ProcessId` also holds the process's start
time, and nothing here signals a process unless both match.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from infra.errors import InfraError

POLL_S = 0.05
PRIVATE = 0o077
"""The umask of daemons and their children."""

MARK = "SLACKWATER_DAEMON_OF"
"""Environment variable of every daemon and, by inheritance, of its children: the state folder of
its stack. It identifies orphans."""

_children: dict[int, subprocess.Popen[bytes]] = {}  # our own, to be reaped when they end


@dataclass(frozen=True)
class ProcessId:
    """The identity of a process: a later one with the same pid is another.

    Attributes:
        pid: the number of the process.
        started: when it started, in the system's own count (clock ticks since boot on Linux,
            which a change of the wall clock does not touch; seconds since 1970 elsewhere).
    """

    pid: int
    started: float


def identify(pid: int) -> ProcessId | None:
    """Return the identity of a running process; None if there is none, or only a zombie.

    A killed JVM whose first thread is a zombie still runs, and holds its ports, until its last
    thread has ended.
    """
    child = _children.get(pid)
    if child is not None and child.poll() is not None:
        del _children[pid]
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1:
            return None
        return ProcessId(pid, _started(process))
    except (psutil.NoSuchProcess, ProcessLookupError, FileNotFoundError):
        return None


def _started(process: psutil.Process) -> float:
    if not psutil.LINUX:
        return process.create_time()
    stat = Path(f"/proc/{process.pid}/stat").read_text()
    # The command's name, in brackets, may contain spaces: count fields after it.
    return float(stat.rpartition(")")[2].split()[19])


def is_alive(process: ProcessId) -> bool:
    """Return whether exactly this process is still running."""
    return identify(process.pid) == process


def start(
    command: Sequence[str], *, log: Path, environment: Mapping[str, str], cwd: Path
) -> ProcessId:
    """Start a daemon: its own session, no standard input, output to a log file.

    The previous run's log is kept as `<log>.1`.

    Raises:
        InfraError: the command cannot be run, or the log cannot be written.
    """
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        if log.exists():
            log.replace(log.with_name(log.name + ".1"))
        with log.open("wb") as out:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                cwd=cwd,
                start_new_session=True,
                umask=PRIVATE,  # its output may contain records and logins
            )
    except OSError as error:
        text = f"cannot start {command[0]}: {error.strerror} ({error.filename or log})"
        raise InfraError(text) from error
    _children[child.pid] = child
    try:
        return ProcessId(child.pid, _started(psutil.Process(child.pid)))
    except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError) as error:
        text = f"{command[0]} ended at once; see {log}"
        raise InfraError(text) from error


def send(process: ProcessId, signal_number: int) -> bool:
    """Send a signal to exactly this process, never to another one with the same pid.

    Returns:
        False if the process is gone.
    """
    if not hasattr(os, "pidfd_open"):
        if not is_alive(process):
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal_number)
        return True
    try:
        # The descriptor refers to one process, so the process checked is the one signalled.
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        if not is_alive(process):
            return False
        signal.pidfd_send_signal(handle, signal_number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def descendants(roots: Iterable[ProcessId]) -> list[ProcessId]:
    """List the running descendants of the given processes."""
    found: dict[int, ProcessId] = {}
    for root in roots:
        if not is_alive(root):
            continue
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(root.pid).children(recursive=True):
                process = identify(child.pid)
                if process is not None:
                    found[child.pid] = process
    return list(found.values())


def marked(state_dir: Path) -> list[ProcessId]:
    """List every process that carries the mark of the stack in `state_dir`.

    The caller and its ancestors are excluded: a task of the stack may itself request the stop.
    """
    own = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    found = []
    for candidate in psutil.process_iter():
        if candidate.pid in own:
            continue
        with contextlib.suppress(psutil.Error, OSError):  # ended meanwhile, or another user's
            if candidate.environ().get(MARK) == str(state_dir):
                process = identify(candidate.pid)
                if process is not None:
                    found.append(process)
    return found


def stop(roots: Sequence[ProcessId], *, grace_s: float) -> None:
    """Stop processes and their descendants: SIGTERM, a bounded wait, then SIGKILL.

    Descendants are listed before the first signal, since an orphan cannot be found through its
    parent; they get SIGTERM once the roots are gone, so that the roots can stop them first.

    Raises:
        InfraError: a process survived SIGKILL for ten seconds.
    """
    offspring = descendants(roots)
    for process in roots:
        send(process, signal.SIGTERM)
    left = _await_end(roots, grace_s)
    for process in left:
        send(process, signal.SIGKILL)
    offspring = [*offspring, *descendants(left)]
    for process in offspring:
        send(process, signal.SIGTERM)
    for process in _await_end(offspring, 2.0):
        send(process, signal.SIGKILL)
    survivors = _await_end([*roots, *offspring], 10.0)
    if survivors:
        pids = ", ".join(str(process.pid) for process in survivors)
        text = f"these processes cannot be ended, not even by SIGKILL: {pids}; look at them with ps"
        raise InfraError(text)


def _await_end(processes: Iterable[ProcessId], bound_s: float) -> list[ProcessId]:
    until = time.monotonic() + bound_s
    left = [process for process in processes if is_alive(process)]
    while left and time.monotonic() < until:
        time.sleep(POLL_S)
        left = [process for process in left if is_alive(process)]
    return left


def memory_of(pid: int) -> int:
    """Sum the memory of a process and its descendants, in bytes; shared pages are split."""
    total = 0
    try:
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    for member in family:
        try:
            total += member.memory_full_info().pss if psutil.LINUX else member.memory_info().rss
        except psutil.Error:  # ended while we were counting
            continue
    return total
