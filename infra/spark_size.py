"""How large the local cluster is: room for as many small pipelines as the machine bears."""

import os
from dataclasses import dataclass

import psutil

from infra.errors import InfraError

AT_ONCE_VARIABLE = "SLACKWATER_PIPELINES_AT_ONCE"
"""How many small pipelines are to find room; by default as many as the machine bears."""

AT_ONCE_MAX = 3
"""By default no more: what they do not need, other programs of this machine may."""

_GIB = 1 << 30
_OTHERS_GIB = 4
"""What Kafka, Airflow and the rest of the machine need."""

_JOB_GIB = 4
"""What a small job needs: three JVMs of 1 GiB at the most, and Python beside them."""


@dataclass(frozen=True)
class WorkerSize:
    """What one of the two workers may give away; no more than a limit, nothing is set aside.

    Attributes:
        cores: how many tasks and drivers it runs at a time.
        memory_gib: for all JVMs that it starts.
    """

    cores: int
    memory_gib: int


def size_for(pipelines: int) -> WorkerSize:
    """The size of each worker, so that so many small pipelines run at once.

    A job has a driver (1 core, 1 GiB), wherever there is room, and an executor on each worker (2
    cores, 1 GiB); all drivers may come to be on one worker.
    """
    return WorkerSize(cores=3 * pipelines, memory_gib=2 * pipelines + 1)


def pipelines_at_once() -> int:
    """How many small pipelines the cluster is made for.

    Raises:
        InfraError: the environment says something that is no number.
    """
    told = os.environ.get(AT_ONCE_VARIABLE)
    if told is None:
        return borne(psutil.virtual_memory().total, os.cpu_count() or 1)
    if not told.isascii() or not told.isdigit() or not 1 <= int(told) <= 100:
        text = f"{AT_ONCE_VARIABLE}={told}: give the number of pipelines, from 1 to 100, as 3"
        raise InfraError(text)
    return int(told)


def borne(memory_bytes: int, cores: int) -> int:
    """How many small pipelines a machine bears at once; one at the least.

    Args:
        memory_bytes: that it has.
        cores: that it has; a job that waits for records needs little of one.
    """
    by_memory = (memory_bytes // _GIB - _OTHERS_GIB) // _JOB_GIB
    return max(1, min(AT_ONCE_MAX, by_memory, cores * 3 // 4))
