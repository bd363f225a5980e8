"""The size of the local cluster: room for as many small pipelines as the machine can run."""

import os
from dataclasses import dataclass
from pathlib import Path

import psutil

from infra.errors import InfraError

AT_ONCE_VARIABLE = "SLACKWATER_PIPELINES_AT_ONCE"
"""Number of small pipelines to make room for; default: as many as the machine can run,
at least two: a run and its successor beside it."""

AT_ONCE_LEAST, AT_ONCE_MAX = 2, 3
"""The limits of the default: a handover needs two runs of one pipeline at a time, and the rest of
the machine is left for other programs."""

_GIB = 1 << 30
_OTHERS_GIB = 4
"""What Kafka, Airflow and the rest of the machine need."""

_JOB_GIB = 4
"""What a small job needs: three JVMs of 1 GiB at the most, and Python beside them."""


@dataclass(frozen=True)
class WorkerSize:
    """What one of the two workers may give away: a limit, not a reservation.

    Attributes:
        cores: how many tasks and drivers it runs at a time.
        memory_gib: for all JVMs that it starts.
    """

    cores: int
    memory_gib: int


def size_for(pipelines: int) -> WorkerSize:
    """Return the size of each worker for a number of small pipelines at once.

    A job has a driver (1 core, 1 GiB), wherever there is room, and an executor on each worker (2
    cores, 1 GiB); all drivers may end up on one worker.
    """
    return WorkerSize(cores=3 * pipelines, memory_gib=2 * pipelines + 1)


def size_of(cores: int) -> int:
    """Return the number of small pipelines for which a worker of so many cores was sized."""
    return cores // size_for(1).cores


def pipelines_at_once(kept: Path | None = None) -> int:
    """Return the number of small pipelines that the cluster is sized for.

    Args:
        kept: a file with the number that was named last, which stays until another one is named.

    Raises:
        InfraError: the environment's value is not a number.
    """
    number = os.environ.get(AT_ONCE_VARIABLE)
    if number is None and kept is not None and kept.exists():
        number = kept.read_text(encoding="utf-8").strip()
    if number is None:
        return borne(psutil.virtual_memory().total, os.cpu_count() or 1)
    if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= 100:
        text = f"{AT_ONCE_VARIABLE}={number}: give the number of pipelines, from 1 to 100, as 3"
        raise InfraError(text)
    return int(number)


def borne(memory_bytes: int, cores: int) -> int:
    """Return the number of small pipelines that a machine is sized for, at least two.

    Args:
        memory_bytes: its memory.
        cores: its cores; a job that waits for records uses little of one.
    """
    by_memory = (memory_bytes // _GIB - _OTHERS_GIB) // _JOB_GIB
    return max(AT_ONCE_LEAST, min(AT_ONCE_MAX, by_memory, cores * 3 // 4))
