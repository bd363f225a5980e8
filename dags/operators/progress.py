"""What a job has to pass, and its progress towards it according to `slackwater progress`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException

from dags.operators.command import CommandError, CommandOutput
from dags.operators.request import clear_number
from dags.operators.run_command import CommandTask

Ends = dict[str, int]
"""The end of each partition of a topic: the offset after its last record, by partition number."""


def fixed_ends(task: CommandTask, context: Context, file: str) -> Ends:
    """Return the topic's ends at the first call, retries included.

    Raises:
        AirflowException: the command failed or did not print them.
    """
    store = context.get("task_state_store")
    key = f"ends.{clear_number(context)}"
    known: Any = store.get(key) if store is not None else None
    if known is None:
        known = task.call("progress", file, "--ends").result()
        if not known or not all(isinstance(end, int) for end in known.values()):
            msg = (
                f"slackwater progress --ends printed no ends of partitions but {json.dumps(known)}"
            )
            raise AirflowException(msg)
        if store is not None:
            store.set(key, known)
    return known


ENDED = frozenset({"FINISHED", "FAILED", "STOPPED", "SUPERSEDED"})
"""States in which nothing more happens until a user submits or starts the run."""


@dataclass(frozen=True)
class Progress:
    """The progress of a job.

    Attributes:
        done: its committed offsets have passed the target.
        state: the run's, from `slackwater runs`, in capitals; FINISHED does not say how far it is.
        behind: offsets between what it has committed and the target.
        lanes: its committed offset, or more, for each lane.
        why: a sentence, if the state needs one: why it failed, what it waits for.
        log: where the driver's log is, if known.
        ui: address of the job's page, if known.
    """

    done: bool
    state: str
    behind: int
    lanes: dict[str, Any] = field(default_factory=dict)
    why: str | None = None
    log: str | None = None
    ui: str | None = None

    @classmethod
    def of(cls, output: CommandOutput) -> Progress:
        """Parse the command's output.

        Raises:
            CommandError: it contains no progress.
        """
        found = output.result()
        if not found or not {"done", "state", "behind"} <= found.keys():
            msg = f"slackwater progress printed no done, state and behind but {found}"
            raise CommandError(msg, 1)
        return cls(**{name: found[name] for name in cls.__dataclass_fields__ if name in found})

    @property
    def failed(self) -> bool:
        """Whether it will never be done."""
        return not self.done and self.state in ENDED

    def as_json(self) -> dict[str, Any]:
        """Convert to plain data, for XCom and for a trigger's event."""
        return asdict(self)

    def problem(self, until: Ends) -> str:
        """Say in one sentence why the target was not passed."""
        why = f": {self.why}" if self.why else ""
        where = f"; the driver's log is {self.log}" if self.log else ""
        return (
            f"the job is {self.state}, {self.behind} offsets before the target "
            f"{json.dumps(until)}{why}{where}"
        )


def progress_arguments(file: str, run: str, until: Ends) -> list[str]:
    """Return the command line that shows the progress of a run towards a target."""
    return ["progress", file, "--run", run, "--json", "--until", json.dumps(until)]
