"""A recorded checkpoint: what an engine's lanes and shards had stored in the middle of a log."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import msgspec

from tests.strategies import Entry, entry
from windowing.engine.reading.batches import batches, interleave
from windowing.engine.reading.pack import RawRows
from windowing.engine.tuning import tuned
from windowing.model import Pipeline, parse_pipeline
from windowing.model.rows import dead_letter_lines, row_lines
from windowing.runtime.local import LocalEngine, Output, Snapshot

SUFFIX = ".msgpack.xz"
_BATCH_ROWS = 4
_WALL_STEP_US = 1_500_000
"""How much later by the wall clock each batch is than the one before."""


class Recording(msgspec.Struct):
    """A pipeline, a log, and the state after its first batches.

    Attributes:
        text: of the pipeline file.
        events: the log in one order of arrival: a JSON list of the lines of EVENTS.jsonl.
        fed: how many batches of the log the state holds.
        rows: what was emitted until then, as lines of OUT.jsonl and OUT.dead.jsonl.
        early: provisional rows until then.
        lanes, shards: what each has stored.
    """

    text: str
    events: str
    fed: int
    rows: list[str]
    early: list[str]
    lanes: list[dict[str, bytes]]
    shards: list[dict[str, bytes]]

    @classmethod
    def of(cls, text: str, events: list[dict[str, object]]) -> Self:
        """Run a pipeline to the middle of a log."""
        pipeline = parse_pipeline(text)
        arrived = [*map(entry, events)]
        fed = len(cut(pipeline, arrived)) // 2
        engine = LocalEngine(pipeline)
        # So that all kinds of entries are stored.
        with tuned(compact_after_deltas=2, cold_from_rows=0):
            for number, batch in enumerate(cut(pipeline, arrived)[:fed]):
                engine.feed(batch, wall_us(number))
        state = engine.snapshot()
        rows, early = lines(engine.output)
        spelled = json.dumps(events, separators=(",", ":"))
        return cls(text, spelled, fed, rows, early, [*state.lanes], [*state.shards])

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline, read anew."""
        return parse_pipeline(self.text)

    @property
    def log(self) -> list[Entry]:
        """The log in the order of arrival."""
        return [entry(event) for event in json.loads(self.events)]

    @property
    def state(self) -> Snapshot:
        """The recorded state."""
        return Snapshot(tuple(self.lanes), tuple(self.shards))

    def write(self, file: Path) -> None:
        """Write it to a file that is not there yet."""
        with file.open("xb") as target:
            target.write(lzma.compress(msgspec.msgpack.encode(self), preset=9))

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read what `write` wrote."""
        return msgspec.msgpack.decode(lzma.decompress(file.read_bytes()), type=cls)


def cut(pipeline: Pipeline, log: list[Entry]) -> list[Mapping[int, RawRows]]:
    """The batches in which a recorded log is fed."""
    return [*batches(log, _BATCH_ROWS, pipeline)]


def wall_us(number: int) -> int:
    """The wall clock of a batch, for early rows."""
    return number * _WALL_STEP_US


def lines(output: Output) -> tuple[list[str], list[str]]:
    """What was emitted, as lines: rows and dead letters in order, and early rows as they came."""
    rows = [*row_lines(output.rows), *dead_letter_lines(output.dead_letters)]
    return rows, [line for row in output.early for line in row_lines([row])]


def arrived(lanes: tuple[tuple[dict[str, object], ...], ...], seed: int) -> list[dict[str, object]]:
    """The events of all lanes in some order of arrival."""
    events = [event for lane in lanes for event in lane]
    places = {(e["source"], e["partition"], e["offset"]): e for e in events}
    order = interleave(map(entry, events), seed)
    return [places[one.source, one.partition, one.offset] for one in order]
