"""The job under test: a handle to it, and a clean run of the same log to compare its state with.

Other checks compare the rows with the definition. The clean run, without faults and in other
batches, looks behind them, at what lanes and shards keep for future rows, read with Spark's state
reader. It is a single process: a cluster would only add a minute.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from chaos.faults.cluster import SETTINGS
from chaos.verdict.check import State, StateError
from infra.endpoints import Endpoints
from infra.layout import ROOT
from infra.spark import connector_jars
from jobs import runs
from jobs.runs.looking import life_of
from windowing.model import Pipeline

_CUTS: Final = 3
_READ_S: Final = 600.0


@dataclass
class JobHandle:
    """A handle to one run of a pipeline on the stack.

    Attributes:
        endpoints: the stack's addresses as the job sees them, perhaps with a proxied broker.
        settings: of its Spark session, in addition to those of every job under test.
    """

    pipeline: Pipeline
    file: Path
    endpoints: Endpoints
    run: str
    max_offsets: int
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return runs.folder_of(self.endpoints, self.pipeline, self.run)

    @property
    def accepted(self) -> Pipeline:
        """The pipeline as it runs now, including partitions accepted since the start."""
        return runs.as_accepted(self.endpoints, self.pipeline, self.run)

    @property
    def checkpoint(self) -> Path:
        """Spark's checkpoint."""
        return runs.checkpoint_of(self.endpoints, self.pipeline, self.run)

    @property
    def table(self) -> Path:
        """The folder of the pipeline's tables."""
        return runs.table_of(self.endpoints, self.pipeline)

    def submit(self, share: float = 1.0) -> None:
        """Submit the run, or attach to it if it is running.

        Args:
            share: fraction of the maximum number of offsets per batch.
        """
        runs.submit(
            self.endpoints,
            self.pipeline,
            self.file,
            self.run,
            runs.Options(
                max_offsets=max(1, int(self.max_offsets * share)),
                conf={**SETTINGS, **self.settings},
            ),
        )

    def stop(self) -> None:
        """Stop the job, and wait until it is gone."""
        runs.stop(self.endpoints, self.pipeline)

    def failure(self) -> str | None:
        """Return why the job will commit nothing more; None while it still may."""
        try:
            # Ask for the latest submission, which may be a deployment's.
            submitted = runs.find(self.endpoints, self.pipeline, self.run)
        except runs.RunError:
            return None
        found = life_of(self.endpoints, submitted)
        return (found.why or f"it is {found.state}") if found.state.ended else None


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
