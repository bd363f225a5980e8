"""OpenLineage events of a driver: what a streaming job reads and writes, and how far it is.

The client's own variables configure where they go (`OPENLINEAGE_URL`, `OPENLINEAGE_CONFIG`, …). A
driver is one run of the job: START, then RUNNING at most once a minute, then COMPLETE, or FAIL
with the error. A driver that is killed says nothing. Events are sent by their own thread.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import attr
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import RunFacet, error_message_run, job_type_job, parent_run
from openlineage.client.uuid import generate_new_uuid

from jobs.metrics.figures import Counts
from windowing.model import Pipeline
from windowing.spark.sinks import reader_of
from windowing.spark.sinks.reader import dataset_in

PRODUCER: Final = "urn:slackwater"
NAMESPACE_VARIABLE: Final = "OPENLINEAGE_NAMESPACE"
PARENT_VARIABLE: Final = "OPENLINEAGE_PARENT_ID"
"""The task that started the job, as `namespace/name/run id`, as OpenLineage's dbt has it."""

_CONFIGURED: Final = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG", "OPENLINEAGE__TRANSPORT")
_EVERY_S, _END_S = 60.0, 10.0
"""How long from one RUNNING to the next, and how long to wait for the last event."""


@attr.define
class WindowsRunFacet(RunFacet):
    """Where a job is.

    Attributes:
        batchId: its last batch.
        lanes: by lane, as in `metrics.jsonl`: progress, offset and end.
        windows: by query and pane, rows since the driver's start; `full` counts windows.
    """

    batchId: int  # noqa: N815 - as facets spell it
    lanes: dict[str, Any]
    windows: dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """The job of which events tell.

    Attributes:
        bootstrap: `host:port` of brokers, separated by commas.
        tables: the folder of the tables, if the sink writes any.
    """

    pipeline: Pipeline
    run: str
    bootstrap: str
    tables: Path

    def inputs(self) -> list[InputDataset]:
        """The topics."""
        broker = self.bootstrap.partition(",")[0]
        parts = self.pipeline.source.parts
        return [InputDataset(f"kafka://{broker}", part.topic) for part in parts]

    def outputs(self) -> list[OutputDataset]:
        """The tables of the queries."""
        reader = reader_of(self.pipeline, self.tables, self.run)
        dataset = partial(dataset_in, self.tables) if reader is None else reader.dataset
        return [OutputDataset(*dataset(name)) for name in self.pipeline.tables]


class Lineage:
    """The events of one driver.

    Args:
        now_s: a clock, in seconds.
    """

    def __init__(self, subject: Subject, now_s: Callable[[], float] = time.monotonic) -> None:
        self._subject, self._now_s, self._sent_s = subject, now_s, 0.0
        namespace = os.environ.get(NAMESPACE_VARIABLE, "slackwater")
        streaming = job_type_job.JobTypeJobFacet("STREAMING", "SLACKWATER", "JOB")
        self._job = Job(namespace, subject.pipeline.name, {"jobType": streaming})
        self._run_id, self._windows = str(generate_new_uuid()), dict[str, dict[str, int]]()
        self._last: WindowsRunFacet | None = None
        self._events: queue.Queue[RunEvent | None] = queue.Queue()
        self._thread = threading.Thread(target=self._send, daemon=True, name="lineage")
        self._thread.start()

    @property
    def is_idle(self) -> bool:
        """Whether no event waits to be sent."""
        return self._events.empty()

    def begin(self) -> None:
        """Tell that the driver has started."""
        self._tell(RunState.START)

    def batch(self, line: Mapping[str, Any], counts: Counts | None) -> None:
        """Take note of a batch, and tell of it if the last event is long ago."""
        for query, panes in (counts.rows if counts else {}).items():
            sums = self._windows.setdefault(query, {})
            for pane, number in panes.items():
                sums[pane] = sums.get(pane, 0) + number
        places = ("progress", "offset", "end")
        lanes = {name: {n: lane[n] for n in places} for name, lane in line["lanes"].items()}
        windows = {query: dict(sums) for query, sums in self._windows.items()}
        self._last = WindowsRunFacet(line["batch_id"], lanes, windows)
        if self._now_s() - self._sent_s >= _EVERY_S and self.is_idle:
            self._tell(RunState.RUNNING)

    def end(self, error: BaseException | None) -> None:
        """Tell that the driver ends, and wait a little until that is sent."""
        self._tell(RunState.COMPLETE if error is None else RunState.FAIL, error)
        self._events.put(None)
        self._thread.join(_END_S)

    def _tell(self, state: RunState, error: BaseException | None = None) -> None:
        facets: dict[str, Any] = {"slackwater_windows": self._last} if self._last else {}
        if (parent := _parent()) is not None:
            facets["parent"] = parent
        if error is not None:
            said = f"{type(error).__name__}: {error}"
            facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(said, "python")
        self._sent_s = self._now_s()
        self._events.put(
            RunEvent(
                eventTime=datetime.now(UTC).isoformat(),
                producer=PRODUCER,
                run=Run(self._run_id, facets),
                job=self._job,
                eventType=state,
                inputs=self._subject.inputs(),
                outputs=self._subject.outputs(),
            )
        )

    def _send(self) -> None:
        complained = False
        try:
            client = OpenLineageClient()
        except Exception as error:  # its settings are the user's: no job fails for them
            sys.stderr.write(f"lineage: the client's settings are wrong: {error}\n")
            return
        while (event := self._events.get()) is not None:
            try:
                client.emit(event)
            except Exception as error:  # nor for a server that does not answer
                if not complained:
                    sys.stderr.write(f"lineage: events cannot be sent: {error}\n")
                complained = True


def lineage_of(subject: Subject) -> Lineage | None:
    """Return what reports a job's lineage; None: nobody wants to know."""
    wanted = any(name.startswith(_CONFIGURED) for name in os.environ)
    return Lineage(subject) if wanted else None


def _parent() -> parent_run.ParentRunFacet | None:
    """The task that started the job, if the environment names one."""
    given = os.environ.get(PARENT_VARIABLE, "")
    namespace, _, rest = given.partition("/")
    name, _, run_id = rest.rpartition("/")
    if not (namespace and name and run_id):
        return None
    return parent_run.ParentRunFacet(parent_run.Run(run_id), parent_run.Job(namespace, name))
