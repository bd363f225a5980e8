"""A clean run beside the faulted one: the same log, no faults, other batches; do states agree?

The rows of both are the definition's or they are not, which other checks say. This one looks behind
them: what lanes and shards keep for rows that are still to come, read with Spark's state reader.
The clean run is one process beside the stack: a cluster adds nothing to it but a minute.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from chaos.run.job_handle import JobHandle
from chaos.verdict.same_state import State, StateError
from infra.layout import ROOT
from infra.spark import connector_jars

_CUTS: Final = 3
_READ_S: Final = 600.0


@dataclass(frozen=True)
class DrainedLog:
    """A moment at which a run had taken in all that its log held.

    Attributes:
        batch: its newest committed batch.
        ends: per partition, the next offset.
    """

    batch: int
    ends: Mapping[int, int]


def read_states(job: JobHandle, drained: DrainedLog, bootstrap: str) -> Mapping[str, State]:
    """Run the same log again without faults, and read what both keep at its end.

    It is done by a program of its own, since Spark stays out of here.

    Args:
        job: the faulted run; stopped.
        drained: when it had taken in all of a log, before the ends came.
        bootstrap: of the broker, as this process reaches it.

    Returns:
        the states `judged` and `clean`.

    Raises:
        StateError: the clean run failed, or a state cannot be read.
    """
    # An interrupted judgement may have left one; it would be gone on with.
    clean = job.folder.parent / "clean"
    shutil.rmtree(clean, ignore_errors=True)
    size = max(1, sum(drained.ends.values()) // _CUTS)
    options = {
        "--checkpoint": str(job.checkpoint),
        "--batch": str(drained.batch),
        "--clean": str(clean),
        "--bootstrap": bootstrap,
        "--ends": json.dumps({str(lane): end for lane, end in drained.ends.items()}),
        "--max-offsets": str(size),
        "--jars": connector_jars(),
    }
    told = subprocess.run(
        [
            *(sys.executable, "-m", "jobs.clean_state", "/dev/stdin"),
            *(word for option in options.items() for word in option),
        ],
        cwd=ROOT,
        input=job.accepted.text,
        capture_output=True,
        text=True,
        check=False,
        timeout=_READ_S,
    )
    lines = [json.loads(line) for line in told.stdout.splitlines() if line.startswith("{")]
    if told.returncode != 0:
        why = lines[-1]["error"] if lines and "error" in lines[-1] else told.stderr.strip()[-400:]
        msg = f"the clean run beside {job.checkpoint} has no state to compare: {why}"
        raise StateError(msg)
    states: dict[str, dict[tuple[str, str], list[Any]]] = {"judged": {}, "clean": {}}
    for line in lines:
        states[line["run"]][line["part"], line["table"]] = line["rows"]
    return {**states}
