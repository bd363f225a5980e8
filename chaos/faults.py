"""Faults on the local stack: real signals, each with evidence that it took effect.

A fault without evidence proves nothing: the caller's verdict is then *unknown*, never a pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import psutil

from infra import stack
from infra.errors import InfraError

_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_DRIVER = "org.apache.spark.deploy.worker.DriverWrapper"
_POLL_S = 0.05

Inject = Callable[[], tuple[str, str]]
"""Does a fault; gives its name and the evidence that it took effect."""

Condition = Callable[[], bool]


class FaultDidNotApply(RuntimeError):
    """There was nothing to hurt, or it was not hurt."""


@dataclass(frozen=True)
class Fault:
    """A fault that took effect.

    Attributes:
        name: what was done.
        at_s: when, in seconds since 1970.
        evidence: how we know that it took effect.
        recovered_s: seconds until the job made progress again; None while it has not.
        batches: how many batches were committed when it struck.
    """

    name: str
    at_s: float
    evidence: str
    batches: int
    recovered_s: float | None = None

    def recovered(self, now_s: float) -> Fault:
        """The same fault, once the job has made progress again."""
        return replace(self, recovered_s=now_s - self.at_s)


def strike(inject: Inject, batches: int) -> Fault:
    """Do a fault now.

    Args:
        inject: one of the faults below.
        batches: how many batches the job has committed.

    Raises:
        FaultDidNotApply: it took no effect.
    """
    at_s = time.time()
    name, evidence = inject()
    return Fault(name, at_s, evidence, batches)


def kill_executor() -> tuple[str, str]:
    """SIGKILL one executor of the cluster; gives the fault's name and the evidence.

    Raises:
        FaultDidNotApply: there is no executor, or it is still there.
    """
    return "kill executor", _kill(_EXECUTOR, "--executor-id")


def kill_driver() -> tuple[str, str]:
    """SIGKILL the supervised driver of a job; gives the fault's name and the evidence.

    Raises:
        FaultDidNotApply: there is no driver, or it is still there.
    """
    return "kill driver", _kill(_DRIVER, None)


def _kill(main_class: str, label: str | None) -> str:
    victims = list(_descendants(main_class))
    if not victims:
        msg = f"no process of {main_class} runs under the workers: is a job running?"
        raise FaultDidNotApply(msg)
    victim = victims[-1]
    what = _argument(victim, label) if label else ""
    victim.kill()
    if not _until(lambda: not _alive(victim), 10):
        msg = f"process {victim.pid} is still alive 10 s after SIGKILL"
        raise FaultDidNotApply(msg)
    named = f"{label.lstrip('-')} {what}, " if label else ""
    return f"{named}pid {victim.pid} gone"


def _descendants(main_class: str) -> Iterator[psutil.Process]:
    """Processes of a class below the project's own Spark workers, oldest first."""
    found = []
    for number in (1, 2):
        try:
            worker = psutil.Process(stack.process_of(f"spark-worker-{number}").pid)
            found += worker.children(recursive=True)
        except (InfraError, psutil.NoSuchProcess):
            continue
    running = [process for process in found if main_class in _command(process)]
    return iter(sorted(running, key=lambda process: process.create_time()))


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _argument(process: psutil.Process, name: str) -> str:
    command = _command(process)
    return command[command.index(name) + 1] if name in command[:-1] else "?"


def _alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def _until(condition: Condition, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True
