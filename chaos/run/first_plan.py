"""A first plan for a pipeline: the faults that make sense for it, each with its reason."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chaos.plan import BATCHES_OF_A_FAULT, RESERVE_BATCHES, least_after
from windowing.model import Pipeline
from windowing.model.windows.traits import Ends

_BATCH_MAX: Final = 1_000
_BATCH_MIN: Final = 10
_UNKNOWN_BATCH: Final = 300
_NAME_MAX: Final = 100
_KEEPING: Final = (Ends.DRAWN, Ends.ROWS)


class FirstPlanError(ValueError):
    """A pipeline or a log that no plan can be made for."""

    exit_code = 2


@dataclass(frozen=True)
class Log:
    """The log that the plan is to send.

    Attributes:
        file: of events, as it was named; None: the pipeline's topic.
        records: how many there are; None: nobody has counted.
    """

    file: Path | None = None
    records: int | None = None


def first_plan(pipeline: Pipeline, file: Path, log: Log, folder: Path) -> str:
    """The text of a plan.

    Args:
        pipeline: what is to be hurt.
        file: its file.
        log: what is sent.
        folder: where the plan will stand.

    Raises:
        FirstPlanError: the log is too short for any fault, or a join's topics are to be copied.
    """
    if log.file is None and pipeline.join is not None:
        msg = "a join reads two topics, and a plan copies one: give its log as --events FILE"
        raise FirstPlanError(msg)
    faults = _faults(pipeline)
    size = _UNKNOWN_BATCH
    if log.records is not None:
        faults, size = _fitting(faults, log.records)
    source = f"topic: {pipeline.source.topic}"
    told = "copied from the cluster that runs, or that of --kafka; from: and to: take a range"
    if log.file is not None:
        source, told = f"events: {_relative(log.file, folder)}", f"{log.records} records"
    lines = [
        f"# A first plan for {pipeline.name}: `slackwater chaos run` carries it out, on a stack",
        "# of its own; --dry-run says what it would do. Every key: chaos/README.md.",
        f"name: {pipeline.name[:_NAME_MAX]}",
        f"pipeline: {_relative(file, folder)}",
        f"workload: {{{source}, max_offsets: {size}}}   # {told}",
        *_of_sinks(pipeline),
        "faults:",
        *(f"  - {{fault: {name}, after: {least_after(name)}}}   # {why}" for name, why in faults),
        *_others(pipeline, [name for name, _ in faults]),
        "recovery: {within: 240 seconds}   # the stated bound, for each fault",
        "give_up: 420 s                    # a job that stands still for so long is given up",
    ]
    return "\n".join(lines) + "\n"


Fault = tuple[str, str]
"""Its name, and why it is there."""


def _faults(pipeline: Pipeline) -> list[Fault]:
    """What makes sense for a pipeline, in the order in which it strikes."""
    found = [("kill_executor", "tasks run again elsewhere, from the state of the batch before")]
    if pipeline.join is None:
        found.append(("poison_records", "one of each kind must end as a dead letter"))
        found.append(("duplicate_sends", "they are records of the log, and count twice"))
    found.append(("kill_driver", "it goes on from its checkpoint"))
    if any(query.window.traits.ends in _KEEPING for query in pipeline.queries):
        why = "the state holds single records or open sessions: a lost file must be named"
        found.append(("delete_state_delta", why))
    found.append(("kill_broker", "the source waits, and goes on"))
    found.append(("lose_last_commit", "a batch is run again, and no row stands twice"))
    if pipeline.join is None and pipeline.source.partitions > 1:
        why = "its windows wait for it; always the last one"
        found.append(("silent_partition", why))
    return found


def _fitting(faults: list[Fault], records: int) -> tuple[list[Fault], int]:
    """As many of the faults as a log is long enough for, and the size of a batch."""
    chosen = list(faults)
    while chosen:
        batches = sum(least_after(name) + BATCHES_OF_A_FAULT for name, _ in chosen)
        batches += RESERVE_BATCHES if chosen[-1][0] == "silent_partition" else 0
        if records // batches >= _BATCH_MIN:
            return chosen, min(_BATCH_MAX, records // batches)
        # The one that waits for the whole log, then those that the others stand for.
        chosen.pop()
    least = _BATCH_MIN * (1 + BATCHES_OF_A_FAULT)
    msg = f"{records} records are too few to hurt a job in between: give {least} at the least"
    raise FirstPlanError(msg)


def _of_sinks(pipeline: Pipeline) -> list[str]:
    if pipeline.sink is None or pipeline.sink.postgres is None:
        return []
    return ["# The run writes tables of its own, and nothing to PostgreSQL."]


def _others(pipeline: Pipeline, chosen: list[str]) -> list[str]:
    """What else there is, to be taken in where it is wanted."""
    lines = ["# Others, for the place before silent_partition:"]
    if "silent_partition" not in chosen:
        lines = ["# Others:"]
    lines += [
        "#  - {fault: restore_old_checkpoint, expect: harmless}   # a copy put back",
        "#  - {fault: lose_table, expect: named}                  # put back after it was missed",
        "#  - slow_network                                        # a proxy before the broker",
    ]
    if pipeline.schedule == "continuous":
        lines.append("#  - kill_airflow_task                     # the retry finds the job")
    lines.append("#  - disconnect_broker                     # with --stack containers")
    return lines


def _relative(file: Path, folder: Path) -> str:
    return os.path.relpath(file.resolve(), folder.resolve())
