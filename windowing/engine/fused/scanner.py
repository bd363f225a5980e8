"""The packer's half of the fused plan: from a chunk to a message for every shard."""

from __future__ import annotations

import msgspec
import polars as pl

from windowing.engine.changes import Claim
from windowing.engine.columns import AT, BEFORE, OFFSET, TIME, field_column
from windowing.engine.lane import Lane, LaneReading, LaneState
from windowing.engine.plan import Plan
from windowing.engine.progress.clock import ClockId, ClockState
from windowing.engine.progress.reached import LaneProgress
from windowing.engine.storage.formats import MessageFormat
from windowing.engine.storage.frames import in_order, to_bytes
from windowing.engine.storage.parcel import Addition, post
from windowing.engine.storage.state import MemoryStore
from windowing.engine.windows.part import Settles
from windowing.model.run_errors import RedeliveredOffset


class Account(msgspec.Struct, array_like=True):
    """What the lane's home shard needs to account for every record of a chunk.

    Attributes:
        rows: number of rows, control records included.
        data: number of data records before the lane's end.
        bad: dead letters of values that no query can use.
        records: by clock, what decides about each data record, a frame as bytes: `offset`, what
            dead letters show, `before` (the progress by the chunk alone), and `at`, the attribute,
            if it is not what they show.
        claims: changes of the queries, with progress by the chunk alone.
        withheld: offset and fate of records that no window sees, a frame as bytes; None: none.
        refused: by query, the dead letters of records that a user's aggregate refuses, a frame as
            bytes; only queries that have any.
        warned: how many records break each rule that only warns, by the name of the count.
    """

    rows: int
    data: int
    bad: bytes
    records: dict[str, bytes]
    claims: list[Claim] = []
    withheld: bytes | None = None
    refused: dict[str, bytes] = {}
    warned: dict[str, int] = {}


class Provisional(msgspec.Struct, array_like=True):
    """One chunk's message to one shard.

    Attributes:
        first, last: its smallest and largest offset.
        reached: the lane's progress by the chunk alone, by the name of the clock.
        queries: what the chunk adds to each query's state, as the lane's part has scanned it.
        account: for the lane's home shard; None: this is another one.
    """

    partition: int
    first: int
    last: int
    reached: dict[str, LaneProgress]
    queries: dict[str, Addition] = {}
    account: Account | None = None


PROVISIONALS = MessageFormat("a packer sent a chunk", 1, Provisional)


class Scanner:
    """Reads chunks as if nothing came before them. It has no state.

    Args:
        plan: a plan with which lanes need no separate stage.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._lanes: dict[int, Lane] = {}

    def lane(self, partition: int) -> Lane:
        """Return the lane that knows how to read chunks of a partition."""
        return self._lanes.setdefault(partition, Lane(self._plan, partition))

    def scan(self, partition: int, chunk: pl.DataFrame) -> list[Provisional]:
        """Return one message per shard.

        Args:
            chunk: some consecutive rows of it, in any order.

        Raises:
            RedeliveredOffset: two rows have the same offset.
        """
        lane, rows = self.lane(partition), in_order(chunk, OFFSET)
        offsets = rows[OFFSET].to_numpy()
        if (offsets[1:] == offsets[:-1]).any():
            raise RedeliveredOffset(_twice(lane, rows))
        reading = lane.read(rows, self._nothing_yet(), MemoryStore())
        ends = int(offsets[0]), int(offsets[-1])
        messages = [
            Provisional(partition, *ends, reading.reached) for _ in range(self._plan.shards)
        ]
        refused = dict[str, bytes]()
        for flow in self._plan.flows:
            part = lane.parts[flow.name]
            assert isinstance(part, Settles)  # noqa: S101 - else the plan would have lanes
            seen, letters = lane.seen(flow, reading)
            if len(letters):
                refused[flow.name] = to_bytes(letters)
            tables = part.scan(seen)
            post(flow.name, tables, messages, part.route, part.due_us)
        messages[partition % len(messages)].account = Account(
            rows=len(rows),
            data=len(reading.rows.data),
            bad=to_bytes(reading.rows.dead),
            records={clock.name: _records(clock, reading) for clock in self._plan.clocks},
            claims=[*reading.claims],
            withheld=None if reading.withheld is None else to_bytes(reading.withheld),
            refused=refused,
            warned=dict(reading.warned),
        )
        return messages

    def _nothing_yet(self) -> LaneState:
        clocks = {clock.name: ClockState(LaneProgress()) for clock in self._plan.clocks}
        return LaneState(self._plan.pipeline.fingerprint, clocks)


def _records(clock: ClockId, reading: LaneReading) -> bytes:
    """Return what decides about single records, and what dead letters show of them."""
    course, data = reading.courses[clock], reading.rows.data
    own = field_column(clock.attribute)
    shown = own if own in data.columns else TIME
    at = pl.Series(AT, course.values)
    more = [] if at.equals(data[shown], check_dtypes=True) else [at]
    return to_bytes(data.select(OFFSET, shown, pl.Series(BEFORE, course.progress_us), *more))


def _twice(lane: Lane, rows: pl.DataFrame) -> str:
    offset = rows.filter(pl.col(OFFSET).is_duplicated())[OFFSET][0]
    return (
        f"lane {lane.name} got offset {offset} twice in one chunk: "
        "source and checkpoint disagree; start a new run to replay"
    )
