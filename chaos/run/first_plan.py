"""A first plan for a pipeline: the faults that make sense for it, each with a reason."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chaos.faults import FAULTS
from chaos.faults.kind import Suggestion
from chaos.plan import BATCHES_OF_A_FAULT, RESERVE_BATCHES, least_after
from chaos.workload.kinds import RECORDS_MAX
from windowing.model import Pipeline

_BATCH_MAX: Final = 1_000
_BATCH_MIN: Final = 10
_UNKNOWN_BATCH: Final = 300
_NAME_MAX: Final = 100
_REASON_COLUMN: Final = 43


class FirstPlanError(ValueError):
    """No plan can be made for a pipeline or a log."""

    exit_code = 2


@dataclass(frozen=True)
class PlanLog:
    """The log that the plan is to send.

    Attributes:
        file: the events file, as the user named it; None: the pipeline's topic.
        records: number of records, or any larger than a plan sends; None: unknown.
    """

    file: Path | None = None
    records: int | None = None


def first_plan(pipeline: Pipeline, file: Path, log: PlanLog, folder: Path) -> str:
    """Write the text of a plan.

    Raises:
        FirstPlanError: the log is too short for any fault, or a join's topics are to be copied.
    """
    if log.file is None and not pipeline.one_topic:
        msg = "a join reads two topics, and a plan copies one: give its log as --events FILE"
        raise FirstPlanError(msg)
    faults = _faults(pipeline)
    size = _UNKNOWN_BATCH
    if log.records is not None:
        most = min(log.records, RECORDS_MAX)
        faults, size = _fitting(faults, most, pipeline.source.partitions)
    source = f"topic: {pipeline.source.topic}"
    remark = "copied from the cluster that runs, or that of --kafka; from: and to: take a range"
    if log.file is not None:
        source, remark = f"events: {_relative(log.file, folder)}", f"{log.records} records"
    elif log.records is None:
        remark = f"for {size * _batches(faults):,} records or more; {remark}"
    if log.records is not None and log.records > RECORDS_MAX:
        source, remark = f"{source}, records: {RECORDS_MAX}", f"the first ones; {remark}"
    lines = [
        f"# A first plan for {pipeline.name}: `slackwater chaos run` carries it out, on a stack",
        "# of its own; --dry-run says what it would do. Every key: chaos/README.md.",
        f"name: {pipeline.name[:_NAME_MAX]}",
        f"pipeline: {_relative(file, folder)}",
        f"workload: {{{source}, max_offsets: {size}}}   # {remark}",
        *_of_sinks(pipeline),
        "faults:",
        *(f"  - {{fault: {name}, after: {least_after(name)}}}   # {why}" for name, why in faults),
        *_others(pipeline, [name for name, _ in faults]),
        "recovery: {within: 240 seconds}   # the stated bound, for each fault",
        "give_up: 420 s                    # a job that stands still for so long is given up",
    ]
    return "\n".join(lines) + "\n"


SuggestedFault = tuple[str, str]
"""Name and reason."""


def _faults(pipeline: Pipeline) -> list[SuggestedFault]:
    return [(name, one.why) for name, one in _suggested(pipeline) if not one.aside]


def _suggested(pipeline: Pipeline) -> list[tuple[str, Suggestion]]:
    found = [
        (name, kind.suggestion)
        for name, kind in FAULTS.items()
        if kind.suggestion is not None and kind.suggestion.to(pipeline)
    ]
    return sorted(found, key=lambda one: one[1].place)


def _fitting(
    faults: list[SuggestedFault], records: int, lanes: int
) -> tuple[list[SuggestedFault], int]:
    """Return as many faults as the log is long enough for, and the batch size.

    Spark takes a record of every lane into a batch that has any, however small it should be.
    """
    chosen = list(faults)
    while chosen:
        size = records // _batches(chosen)
        if size >= (max(_BATCH_MIN, lanes) if len(chosen) > 1 else lanes):
            return chosen, min(_BATCH_MAX, size)
        # Drop the fault that needs the whole log first, then those that resemble others.
        chosen.pop()
    least = lanes * _batches(faults[:1])
    msg = (
        f"{records} records are too few for any fault: give at least {least}, so that there is a "
        f"batch before it and {BATCHES_OF_A_FAULT} from it on, each with a record of every lane"
    )
    raise FirstPlanError(msg)


def _batches(faults: list[SuggestedFault]) -> int:
    """Return how many batches the faults need."""
    needed = sum(least_after(name) + BATCHES_OF_A_FAULT for name, _ in faults)
    return needed + (RESERVE_BATCHES if any(FAULTS[name].reserve for name, _ in faults) else 0)


def _of_sinks(pipeline: Pipeline) -> list[str]:
    if pipeline.destination.rules.in_folder:
        return []
    return [
        f"# The run writes tables of its own, and nothing to {pipeline.destination.rules.title}."
    ]


def _others(pipeline: Pipeline, chosen: list[str]) -> list[str]:
    last = next((name for name in chosen if FAULTS[name].last_because), None)
    heading = "# Others:" if last is None else f"# Others, for the place before {last}:"
    others = [(name, one) for name, one in _suggested(pipeline) if one.aside]
    anywhere = [one for one in others if not _needs_more(one[0])]
    elsewhere = [one for one in others if _needs_more(one[0])]
    return [heading, *_mentioned(anywhere), *_mentioned(elsewhere)]


def _needs_more(fault: str) -> bool:
    """Whether a fault needs more than Kafka and Spark as local processes."""
    return FAULTS[fault].deploys or "local" not in FAULTS[fault].stacks


def _mentioned(others: list[tuple[str, Suggestion]]) -> list[str]:
    steps = [
        f"#  - {name}" if one.expect is None else f"#  - {{fault: {name}, expect: {one.expect}}}"
        for name, one in others
    ]
    width = max(_REASON_COLUMN, *(len(step) + 3 for step in steps), 0)
    return [f"{step:{width}}# {one.why}" for step, (_, one) in zip(steps, others, strict=True)]


def _relative(file: Path, folder: Path) -> str:
    return os.path.relpath(file.resolve(), folder.resolve())
