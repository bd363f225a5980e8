"""A handle to the job under test: submits and stops it, and says why it gave up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chaos.faults.cluster import SETTINGS
from infra.endpoints import Endpoints
from jobs import runs
from jobs.runs.looking import life_of
from windowing.model import Pipeline


@dataclass
class JobHandle:
    """A handle to one run of a pipeline on the stack.

    Attributes:
        pipeline: what the job runs.
        file: the pipeline file, for its name.
        endpoints: the stack's addresses as the job sees them, perhaps with a proxied broker.
        run: the run's name.
        max_offsets: maximum number of offsets per batch.
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
