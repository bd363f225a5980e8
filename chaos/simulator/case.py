"""A case: a pipeline, a log and a plan. It holds all that a simulated run depends on.

A case is data: written as JSON it is what a failure leaves behind, and what `--replay` runs again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from chaos.readers.bounded_lines import bounded_text

Event = dict[str, Any]
"""One record, in the shape of a line of EVENTS.jsonl."""

FailureKind = Literal[
    "driver dies before the offsets are logged",
    "driver dies after the offsets are logged",
    "driver dies among the lanes",
    "driver dies among the shards",
    "driver dies among the state commits",
    "driver dies among the tables",
    "driver dies before the commit entry",
    "driver dies after the commit entry",
    "worker dies among the lanes",
    "worker dies among the shards",
    "sink refuses",
    "sink does not answer",
]


Rival = Literal["plans first", "same batch"]
"""What a second driver on the same checkpoint does: it writes the offsets of the next batch before
the first one does, or runs a batch that the first one runs, too."""


class Failure(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What goes wrong in one attempt at a batch.

    Attributes:
        kind: what, and where.
        at: which lane, shard, state, table or worker; taken modulo how many there are.
    """

    kind: FailureKind
    at: int = 0


class PlannedBatch(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One batch, and what befalls the job before and during it.

    Attributes:
        take: per partition, how many records the batch brings; 0 stalls the partition.
        pieces: each partition's part is cut into so many chunks.
        twice: so many of the chunks are delivered twice.
        rewind: so many records of each partition that came in earlier batches come again.
        order: the seed of every order in the batch: chunks, lanes, parcels, shards.
        state_first: state is committed before the sink is written, not after it.
        failures: what goes wrong in the first attempt, the second, …; later ones succeed.
        lose_commit: before the batch, the last commit entry is lost, and the job restarts.
        workers: before the batch, the job restarts with so many workers; 0: it does not.
        move: so far the tasks move on among the workers before the batch.
        damage: before the batch, the newest state file of this task is damaged, and the job
            restarts; None: nothing is.
        wall_us: so much time passes by the wall clock before the batch.
        rival: what a second driver does during the batch; None: there is none.
        restore: before the batch, the checkpoint is put back from a copy that is so many batches
            old, and the job restarts.
        lose_table: before the batch, this table of the sink is lost, and the job restarts.
    """

    take: tuple[int, ...] = ()
    pieces: int = 1
    twice: int = 0
    rewind: int = 0
    order: int = 0
    state_first: bool = False
    failures: tuple[Failure, ...] = ()
    lose_commit: bool = False
    workers: int = 0
    move: int = 0
    damage: int | None = None
    wall_us: int = 0
    rival: Rival | None = None
    restore: int = 0
    lose_table: int | None = None


class Case(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """All that a simulated run depends on.

    Attributes:
        seed: where it was drawn from, for people.
        engine: the engine under test: `slackwater`, or the name of a guilty one.
        pipeline: the text of the pipeline file.
        lanes: per partition, its events in offset order.
        plan: the batches; what they leave of the log is delivered at the end.
        compact_after: how many deltas a shard merges into its base.
        strict: a record that is delivered again is an error, as on Spark, and not a no-op.
        tables: rows are put together by the sinks' code, and read back from their columns.
    """

    seed: str
    engine: str
    pipeline: str
    lanes: tuple[tuple[Event, ...], ...]
    plan: tuple[PlannedBatch, ...]
    compact_after: int = 8
    strict: bool = False
    tables: bool = False

    @property
    def records(self) -> int:
        """How many records the log has, control records included."""
        return sum(map(len, self.lanes))


@dataclass(frozen=True, slots=True)
class SimulatedRecord:
    """One record of the simulated log, undecoded."""

    source: str
    partition: int
    offset: int
    value: bytes | None
    control: bytes | None
    append_us: int | None


def record(event: Event) -> SimulatedRecord:
    """Read an event; its value is spelled as Python's json spells it."""
    value = None
    if "value" in event:
        value = json.dumps(event["value"], ensure_ascii=False).encode("utf-8", "surrogatepass")
    elif "raw" in event:
        value = event["raw"].encode("utf-8", "surrogatepass")
    control = json.dumps(event["control"]).encode() if "control" in event else None
    place = (event["source"], event["partition"], event["offset"])
    return SimulatedRecord(*place, value, control, event.get("append_us"))


class CaseError(ValueError):
    """A file that holds no case."""

    exit_code = 2


def write_case(case: Case, path: Path) -> None:
    """Write a case as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(msgspec.to_builtins(case), indent=1) + "\n", encoding="utf-8")


def read_case(path: Path) -> Case:
    """Read what `write_case` wrote.

    Raises:
        CaseError: the file is missing, is not JSON, or is not a case; with the place.
    """
    try:
        return msgspec.convert(json.loads(bounded_text(path)), Case)
    except (OSError, ValueError, RecursionError) as error:
        msg = f"{path} holds no case: {error}; give a file that `chaos simulate` wrote"
        raise CaseError(msg) from None
