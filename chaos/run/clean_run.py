"""A clean run of the same log, without faults and in other batches, to compare its state.

Other checks compare the rows with the definition. This one looks behind them, at what lanes and
shards keep for future rows, read with Spark's state reader. The clean run is a single process: a
cluster would only add a minute.
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
from chaos.verdict.check import State, StateError
from infra.layout import ROOT
from infra.spark import connector_jars

_CUTS: Final = 3
_READ_S: Final = 600.0


@dataclass(frozen=True)
class DrainedLog:
    """The moment at which a run had read all of its log.

    Attributes:
        ends: the next offset of each partition.
    """

    batch: int
    ends: Mapping[int, int]


def read_states(job: JobHandle, drained: DrainedLog, bootstrap: str) -> Mapping[str, State]:
    """Run the same log without faults, and read the final state of both runs.

    A separate program does it, since this package must not import Spark.

    Args:
        job: the faulted run, stopped.
        drained: when it had read all of the log but the `end` records.

    Returns:
        the states `judged` and `clean`.

    Raises:
        StateError: the clean run failed, or a state cannot be read.
    """
    # An interrupted judgement may have left a checkpoint, from which the run would resume.
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
    ended = subprocess.run(
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
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    if ended.returncode != 0:
        why = lines[-1]["error"] if lines and "error" in lines[-1] else ended.stderr.strip()[-400:]
        msg = f"the clean run beside {job.checkpoint} has no state to compare: {why}"
        raise StateError(msg)
    states: dict[str, dict[tuple[str, str], list[Any]]] = {"judged": {}, "clean": {}}
    for line in lines:
        states[line["run"]][line["part"], line["table"]] = line["rows"]
    return {**states}
