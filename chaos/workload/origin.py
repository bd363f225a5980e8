"""Read the records of a workload of any kind."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from chaos.readers.log import EventsFileError
from chaos.workload.feed import departed
from chaos.workload.generated import write_generated
from chaos.workload.kinds import RECORDS_MAX, Workload
from chaos.workload.records import WorkloadRecord, read_records
from chaos.workload.topic_range import read_range
from windowing.model import Pipeline


@dataclass(frozen=True)
class Origin:
    """The origin of a workload's records.

    Attributes:
        workload: the workload.
        pipeline: the user's pipeline, whose log the records are.
        folder: the plan's folder, to which files and modules are relative.
        seed: seed for a generator.
        bootstrap: returns the broker that has the topic; called only if there is a topic.
    """

    workload: Workload
    pipeline: Pipeline
    folder: Path
    seed: int
    bootstrap: Callable[[], str]

    def records(self) -> list[WorkloadRecord]:
        """Read the records, without the ends of partitions.

        Raises:
            FlightsError: the data set is missing.
            LogError: a file or a topic cannot be read, or is no log of this pipeline.
            GeneratorError: the generator is not there, or fails.
            BrokerError: no broker answers.
        """
        workload, pipeline = self.workload, self.pipeline
        if workload.flights is not None:
            return departed(workload, pipeline)
        if workload.topic is not None:
            return self._first(read_range(self.bootstrap(), workload, pipeline))
        by = workload.partition_by
        if workload.events is not None:
            return self._first(
                read_records(self.folder / workload.events, pipeline, partition_by=by)
            )
        with tempfile.TemporaryDirectory(prefix="slackwater-generated-") as folder:
            file = Path(folder) / "generated.jsonl"
            reference, limit = str(workload.python), workload.records or RECORDS_MAX
            write_generated(reference, self.folder, self.seed, limit, file)
            return self._first(read_records(file, pipeline, partition_by=by))

    def _first(self, records: Iterable[WorkloadRecord]) -> list[WorkloadRecord]:
        """Return as many records as the workload wants; reject more than the maximum."""
        found = list(islice(records, self.workload.records or RECORDS_MAX + 1))
        if len(found) > RECORDS_MAX:
            msg = (
                f"{self.workload}: more than {RECORDS_MAX:,}, which is what a plan can send at the "
                f"most: take the first ones, as records: {RECORDS_MAX}"
            )
            raise EventsFileError(msg)
        return found
