"""A case: a pipeline, a log and a plan, which determine a simulated run completely.

A case is plain data. A failure leaves one behind as JSON, and `--replay` reruns it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from chaos.readers.bounded_lines import bounded_text
from windowing.engine.tuning import LEGAL, Tuning
from windowing.model.control import COUNTER_HEADER, SIGNATURE_HEADER, sealed
from windowing.model.metadata import NO_METADATA, Metadata

Event = dict[str, Any]
"""One record, in the format of a line of EVENTS.jsonl."""

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
"""Actions of a second driver on the same checkpoint: it logs the offsets of the next batch before
the first driver does, or runs the same batch."""


class Failure(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A failure during one attempt at a batch.

    Attributes:
        at: index of the lane, shard, state, table or worker, modulo their number.
    """

    kind: FailureKind
    at: int = 0


class PlannedBatch(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One batch, and the faults before and during it.

    Attributes:
        take: number of records per partition; 0 stalls the partition.
        pieces: number of chunks into which each partition's records are cut.
        twice: number of chunks delivered twice.
        rewind: number of each partition's records from earlier batches that are redelivered.
        order: seed of every order in the batch: chunks, lanes, parcels, shards.
        state_first: whether state is committed before the sink is written, not after it.
        failures: failures of the first attempt, the second, …; later attempts succeed.
        lose_commit: whether, before the batch, the last commit entry is lost and the job restarts.
        workers: number of workers with which the job restarts before the batch; 0: no restart.
        move: number of places by which tasks move among the workers before the batch.
        damage: task whose newest state file is damaged before the batch, and the job restarts;
            None: no damage.
        wall_us: wall-clock time that passes before the batch.
        rival: what a second driver does during the batch; None: there is none.
        restore: age, in batches, of the copy from which the checkpoint is restored before the
            batch, and the job restarts; 0: no restore.
        lose_table: table of the sink that is lost before the batch, and the job restarts; None:
            no loss.
        shards: number of shards with which the job continues before the batch; 0: as many.
        joins: whether, before the batch, the next of the pipeline's joined lanes joins; those that
            have a step begin without, and any other one has always been there.
        dies_in_change: number of steps of a change of the pipeline after which the driver dies, the
            first time that one is made; None: it does not.
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
    shards: int = 0
    dies_in_change: int | None = None
    joins: bool = False


class Case(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Everything that a simulated run depends on.

    Attributes:
        engine: the engine under test: `slackwater`, or the name of a planted bug.
        lanes: the events of each partition, in offset order.
        plan: the batches; the rest of the log is delivered at the end.
        tuning: the engine's thresholds (`windowing.engine.tuning`) that do not have their default.
        retuned: the same after a restart, those of the run excepted, and after every other one;
            without any, they stay the same.
        strict: whether a redelivered record is an error, as on Spark, rather than a no-op.
        tables: whether rows pass through the sinks' code and are read back from columns.
        fused: whether to run the fused plan, where it applies.
        disk: whether rows go to tables on a disk, by the table sink.
        copies: whether workers keep copies of state, and whether these are damaged.
    """

    seed: str
    engine: str
    pipeline: str
    lanes: tuple[tuple[Event, ...], ...]
    plan: tuple[PlannedBatch, ...]
    tuning: dict[str, int] = {}
    retuned: dict[str, int] = {}
    strict: bool = False
    tables: bool = False
    fused: bool = False
    disk: bool = False
    copies: Literal["none", "whole", "damaged"] = "none"

    def __post_init__(self) -> None:
        for restarts in range(2):
            Tuning(**self.thresholds(restarts))

    @property
    def records(self) -> int:
        """Number of records in the log, including control records."""
        return sum(map(len, self.lanes))

    def thresholds(self, restarts: int = 0) -> dict[str, int]:
        """Return the thresholds of workers after some restarts, by name."""
        if not self.retuned or restarts % 2 == 0:
            return self.tuning
        kept = {name: value for name, value in self.tuning.items() if LEGAL[name].of_run}
        return {**asdict(Tuning()), **self.retuned, **kept}


@dataclass(frozen=True, slots=True)
class SimulatedRecord:
    """One record of the simulated log, undecoded."""

    source: str
    partition: int
    offset: int
    value: bytes | None
    control: bytes | None
    append_us: int | None
    metadata: Metadata = NO_METADATA


def record(event: Event) -> SimulatedRecord:
    """Convert an event to a record, formatting its value with Python's json."""
    value = None
    if "value" in event:
        value = json.dumps(event["value"], ensure_ascii=False).encode("utf-8", "surrogatepass")
    elif "raw" in event:
        value = event["raw"].encode("utf-8", "surrogatepass")
    control = _sealed(event) if "control" in event else None
    place = (event["source"], event["partition"], event["offset"])
    return SimulatedRecord(*place, value, control, event.get("append_us"), _metadata(event))


def _metadata(event: Event) -> Metadata:
    key, headers = event.get("key"), event.get("headers", {})
    if "control" in event:
        return NO_METADATA
    return Metadata(
        None if key is None else key.encode(),
        event.get("timestamp_us"),
        tuple((name, None if one is None else one.encode()) for name, one in headers.items()),
    )


def _sealed(event: Event) -> bytes:
    """Return an event's control, with the headers that sign it, if there are any."""
    headers = {name: text.encode() for name, text in event.get("headers", {}).items()}
    signed, counter = headers.get(SIGNATURE_HEADER), headers.get(COUNTER_HEADER)
    return sealed(json.dumps(event["control"]).encode(), signed, counter)


def is_change(event: Event) -> bool:
    """Whether an event is a control record that adds or removes queries."""
    return isinstance(event.get("control"), Mapping) and "queries" in event["control"]


class CaseError(ValueError):
    """A file that is not a case."""

    exit_code = 2


def write_case(case: Case, path: Path, indent: int | None = 1) -> None:
    """Write a case as JSON; without indent, in one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    between = (",", ":") if indent is None else None
    text = json.dumps(msgspec.to_builtins(case), indent=indent, separators=between)
    path.write_text(text + "\n", encoding="utf-8")


def _renamed(said: Any) -> Any:
    """Return a case as it would be written today: two thresholds were separate fields."""
    if isinstance(said, dict) and {"compact_after", "shared"} & said.keys():
        named = {"compact_after_deltas": said.pop("compact_after", None)}
        named["share_from_queries"] = 2 if said.pop("shared", False) else None
        said["tuning"] = {name: value for name, value in named.items() if value is not None}
    return said


def read_case(path: Path) -> Case:
    """Read what `write_case` wrote.

    Raises:
        CaseError: the file is missing, not JSON, or not a case; gives the position.
    """
    try:
        return msgspec.convert(_renamed(json.loads(bounded_text(path))), Case)
    except (OSError, ValueError, RecursionError) as error:
        msg = f"{path} holds no case: {error}; give a file that `chaos simulate` wrote"
        raise CaseError(msg) from None
