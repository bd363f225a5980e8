"""Processes of the Spark cluster on this machine: drivers, executors, Python workers.

Spark's workers, or YARN's NodeManager, start drivers and executors, and those start Python; the
main class, or the module, on the command line tells the kinds apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from infra.process import ProcessId, descendants, identify

Kind = Literal["driver", "driver-python", "executor", "python-worker"]


@dataclass(frozen=True)
class ClusterProcess:
    """One process of a job.

    Attributes:
        kind: `driver` is the JVM and `driver-python` the script it runs; `python-worker` is the
            daemon of an executor or one of the workers that it forked.
        job: a driver's submission id, in YARN its application id; an executor's application id;
            else empty.
        executor: an executor's number in the application; else empty.
        running: whether it was on a processor when we looked.
        forks: whether it has children.
    """

    kind: Kind
    job: str
    executor: str
    process: ProcessId
    running: bool = False
    forks: bool = False


# In a Spark cluster; in YARN.
_DRIVERS = ("worker.DriverWrapper", "yarn.ApplicationMaster")
# Spark's own, or one of ours that a job names in `spark.python.daemon.module`.
_PYTHON_DAEMONS = frozenset({"pyspark.daemon", "windowing.spark.daemon"})


def cluster_processes(workers: Sequence[ProcessId]) -> list[ClusterProcess]:
    """List running processes of jobs that the given daemons have started.

    Args:
        workers: processes of Spark workers or NodeManagers, as `infra.stack.process_of` gives them.
    """
    found = (_classify(process) for process in descendants(workers))
    return [one for one in found if one is not None]


def _classify(process: ProcessId) -> ClusterProcess | None:
    try:
        live = psutil.Process(process.pid)
        words, folder = live.cmdline(), live.cwd()
        state = (live.status() == psutil.STATUS_RUNNING, bool(live.children()))
    except psutil.Error:  # ended meanwhile
        return None
    if identify(process.pid) != process:
        return None
    if any(word.endswith("CoarseGrainedExecutorBackend") for word in words):
        app, number = _option(words, "--app-id"), _option(words, "--executor-id")
        return ClusterProcess("executor", app, number, process, *state)
    if any(word.endswith(_DRIVERS) for word in words):
        return ClusterProcess("driver", _job_of(Path(folder)), "", process, *state)
    if _PYTHON_DAEMONS & set(words):
        return ClusterProcess("python-worker", "", "", process, *state)
    if words and Path(words[0]).name.startswith("python"):
        return ClusterProcess("driver-python", "", "", process, *state)
    return None


def _job_of(folder: Path) -> str:
    """Return the job whose driver runs in a folder: its own name, or above YARN's containers."""
    return folder.parent.name if folder.name.startswith("container_") else folder.name


def _option(words: Sequence[str], name: str) -> str:
    return words[words.index(name) + 1] if name in words[:-1] else ""
