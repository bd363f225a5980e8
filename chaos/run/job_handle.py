"""The job under attack: submitted, stopped, submitted again, and asked why it has given up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from chaos.faults.cluster import SETTINGS
from infra.endpoints import Endpoints
from jobs import runs
from jobs.runs.looking import life_of
from windowing.model import Pipeline


@dataclass
class JobHandle:
    """One run of a pipeline on the stack.

    Attributes:
        pipeline: what it runs.
        file: the pipeline file, for its name.
        endpoints: of the stack, as the job sees it: its broker may stand behind a proxy.
        run: the run's name.
        max_offsets: offsets per batch at the most.
    """

    pipeline: Pipeline
    file: Path
    endpoints: Endpoints
    run: str
    max_offsets: int

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return runs.folder_of(self.endpoints, self.pipeline, self.run)

    @property
    def accepted(self) -> Pipeline:
        """What it runs by now: with the partitions that have joined the run."""
        return runs.as_accepted(self.endpoints, self.pipeline, self.run)

    @property
    def checkpoint(self) -> Path:
        """Spark's checkpoint."""
        return self.folder / "checkpoint"

    @property
    def table(self) -> Path:
        """The folder of the pipeline's tables."""
        return runs.table_of(self.endpoints, self.pipeline)

    def submit(self, share: float = 1.0) -> None:
        """Submit it, or attach to it where it runs.

        Args:
            share: of the offsets per batch.
        """
        runs.submit(
            self.endpoints,
            self.pipeline,
            self.file,
            self.run,
            max_offsets=max(1, int(self.max_offsets * share)),
            conf=SETTINGS,
        )

    def stop(self) -> None:
        """End it by order, and wait until it is gone."""
        runs.stop(self.endpoints, self.pipeline)

    def failure(self) -> str | None:
        """Why the job will do nothing more; None while it may."""
        try:
            # Whoever submitted it last: a deployment may have done so.
            submitted = runs.find(self.endpoints, self.pipeline, self.run)
        except runs.RunError:
            return None
        found = life_of(self.endpoints, submitted)
        return (found.why or f"it is {found.state}") if found.state.ended else None
