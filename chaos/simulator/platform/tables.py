"""The table sink of a simulated job: the product's own, over Delta tables in a folder.

Executors write the files of large results, drivers those of small ones and the logs. A driver dies
before it names an entry of a log, with files that nobody names, or after it, without knowing that
it is there; a second driver writes the same batch meanwhile.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final
from unittest.mock import patch

import pyarrow as pa

from chaos.simulator.platform.death import Fate
from chaos.simulator.platform.disks import Scratch
from chaos.simulator.platform.sink import Ends
from chaos.simulator.platform.start import StartCheck, compare_tables, stretches
from windowing.engine.tuning import tuning
from windowing.files.places import name_once
from windowing.model.file.pipeline import Pipeline
from windowing.runtime.output import SinkFrame
from windowing.runtime.token import Token
from windowing.spark.sinks import RunPlace, TableSink, begin_tables, table_log
from windowing.spark.sinks.data_files import EMISSIONS
from windowing.spark.sinks.rows import schemas
from windowing.spark.sinks.tokens import TOKENS, Frames
from windowing.spark.sinks.upkeep import optimize, vacuum
from windowing.spark.sinks.written import WrittenBatch

RUN: Final = "simulated"
_TIDY_EVERY: Final = 7


@dataclass(frozen=True)
class Rival:
    """A second driver that is about to write a batch.

    Attributes:
        at: the entry of a log before which it does so.
    """

    write: Callable[[], None]
    at: int


class TableFolder:
    """The tables of a run, and the driver that writes them.

    Args:
        scratch: for their folder, and for tables that are lost.

    Attributes:
        reported: what the sink has reported of each batch that it has written.
    """

    def __init__(self, scratch: Scratch, plans: Sequence[Ends], lanes: int) -> None:
        self.folder, self._away = scratch.new(), scratch.new()
        self.plans, self._lanes = plans, lanes
        self._sink: TableSink | None = None
        self._frames: Frames = ()
        self.reported: dict[int, WrittenBatch] = {}

    def restart(self, sink: TableSink | None = None) -> TableSink | None:
        """Let another driver continue, which knows nothing of the tables yet, or has a sink.

        Returns:
            the sink of the driver before.
        """
        before, self._sink = self._sink, sink
        return before

    def sink(self, pipeline: Pipeline) -> TableSink:
        """Return the driver's sink."""
        if self._sink is None:
            self._sink = TableSink.open(self._place(pipeline))
        return self._sink

    def file(
        self, pipeline: Pipeline, batch: int, shards: Sequence[Frames], rng: random.Random
    ) -> None:
        """Run the executors' part of writing a batch.

        Args:
            rng: decides which tasks have which shards.
        """
        stage = self.sink(pipeline).file_stage(batch, tuning().inline_result_bytes)
        tasks: list[list[pa.RecordBatch]] = [[] for _ in range(rng.randint(1, 3))]
        for frames in shards:
            if frames:
                columns = zip(*frames, strict=True)
                arrays = dict(zip(EMISSIONS.names, map(list, columns), strict=True))
                rng.choice(tasks).append(pa.RecordBatch.from_pydict(arrays, schema=EMISSIONS))
        found = [one for task in tasks for one in stage(iter(task))]
        self._frames = [SinkFrame(*row.values()) for one in found for row in one.to_pylist()]

    def write(self, pipeline: Pipeline, batch: int, fate: Fate, rival: Rival | None = None) -> None:
        """Write what was filed last, as far as the driver lives; a rival does so in between.

        Raises:
            JobDied: the driver dies.
        """
        with _entries_pass_by(fate, len(schemas(pipeline)) + 1, rival):
            self.sink(pipeline).take(self._frames, batch)

    def rival(self, pipeline: Pipeline, batch: int, at: int) -> Rival:
        """Return this driver as one that writes what was filed last when another one does."""
        sink, frames = self.sink(pipeline), self._frames

        def write() -> None:
            with _entries_pass_by(Fate(None), 1, None):
                sink.take(frames, batch)

        return Rival(write, at)

    def begin(self, before: Pipeline, after: Pipeline, batch: int) -> None:
        """Make the tables of a changed pipeline, whose new queries begin behind a batch."""
        known = {flow.name for flow in before.flows}
        added = [flow.name for flow in after.flows if flow.name not in known]
        if batch >= 0 and added:
            begin_tables(self._place(after), batch, added)

    def compare(self, pipeline: Pipeline, commits: int) -> StartCheck:
        """Compare the checkpoint with the tables, as a driver does when it starts."""
        kept = TableSink.kept(pipeline, self.folder, RUN)
        lanes = [pipeline.source.lane(lane) for lane in range(self._lanes)]
        return compare_tables(self.plans, commits, kept, lanes, topics_of(pipeline))

    def lost_and_named(self, pipeline: Pipeline, which: int, commits: int) -> bool:
        """Lose a table, and put it back; return whether the next driver names it."""
        tables = [*schemas(pipeline), TOKENS]
        name = tables[which % len(tables)]
        self.restart()
        (self.folder / name).rename(self._away / name)
        named = self.compare(pipeline, commits).behind
        (self._away / name).rename(self.folder / name)
        # Without tokens, no table is known to be complete.
        return name in named or (name == TOKENS and bool(named))

    def tidy(self, pipeline: Pipeline, number: int) -> bool:
        """Clean the tables if a number says so; return whether it does.

        Small files are merged, and those removed that no version of the tables needs.
        """
        if number % _TIDY_EVERY != 1:
            return False
        for _ in optimize(pipeline, self.folder):
            pass
        for _ in vacuum(pipeline, self.folder, retention=timedelta(0)):
            pass
        return True

    def _place(self, pipeline: Pipeline) -> RunPlace:
        def token_of(batch: int) -> Token:
            return token(pipeline, self.plans, batch)

        return RunPlace(pipeline, RUN, self.folder, token_of, on_written=self._note)

    def _note(self, written: WrittenBatch) -> None:
        self.reported[written.batch_id] = written


def token(pipeline: Pipeline, plans: Sequence[Ends], batch: int) -> Token:
    """Return the token of a batch, whose offsets are numbers of records."""
    begin = plans[batch - 1] if batch else (0,) * len(plans[batch])
    lanes = [pipeline.source.lane(lane) for lane in range(len(begin))]
    parts = stretches(lanes, begin, plans[batch])
    # A plan has no lane that joined later.
    later = [lane for lane, end in zip(lanes, plans[batch], strict=True) if not end]
    later = [lane for lane in later if lane not in lanes[: pipeline.source.founding]]
    known = {lane: part for lane, part in parts.items() if lane not in later}
    return Token(batch, known, topics_of(pipeline))


def topics_of(pipeline: Pipeline) -> dict[str, str]:
    """Return the ids of a pipeline's topics by name."""
    return {part.topic: f"id of {part.topic}" for part in pipeline.source.parts}


@contextmanager
def _entries_pass_by(fate: Fate, of: int, rival: Rival | None) -> Iterator[None]:
    """Let a fate strike where entries of logs are named, while a block runs; of so many logs."""
    number = 0

    def named(written: Path, where: Path) -> bool:
        nonlocal number, rival
        at, number = number, number + 1
        if rival is not None and rival.at % of == at:
            due, rival = rival, None
            due.write()
        fate.pass_by("driver dies among the tables", at, of)
        fate.pass_by("sink refuses", at, of, workers=False)
        done = name_once(written, where)
        fate.pass_by("sink does not answer", at, of, workers=False)
        return done

    with patch.object(table_log, "name_once", named):
        yield
    if rival is not None:
        rival.write()
