"""The simulated job: a driver that cuts batches from a log and takes each through the engine.

The order of things is Spark's: the offsets of a batch are written ahead, the batch is executed, the
sink written, the states committed (or these two the other way round), and a commit entry ends it. A
restarted job runs the batch again that has offsets and no commit entry, with the same offsets.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import count, pairwise
from typing import TYPE_CHECKING, TypeVar

import msgspec

from chaos.output import dead_letter_identity, row_identity
from chaos.simulator.case import Failure, FailureKind, Record, Step
from chaos.simulator.cluster import Engine, Open
from chaos.simulator.history import History, Line, Metric
from chaos.simulator.sink import Item
from chaos.simulator.state import StateDamaged, Task
from windowing.frames import from_bytes
from windowing.lane import Lane
from windowing.output import dead_letters_of, rows_of
from windowing.pack import RawRows, pack
from windowing.parcel import Parcel
from windowing.shard import Emission, Shard
from windowing.spec.pipeline import Pipeline
from windowing.spec.rows import dead_letter_line, row_line
from windowing.state import MemoryStore
from windowing.values import ValueRules

if TYPE_CHECKING:
    from chaos.simulator.parts import Parts

Ends = tuple[int, ...]
Tables = dict[str, list[object]]
Output = TypeVar("Output")

DEAD, METRICS = "dead letters", "metrics"


class JobDied(Exception):
    """The job has to be restarted; `workers` says whether the workers died with it."""

    def __init__(self, kind: FailureKind, *, workers: bool) -> None:
        self.kind, self.workers = kind, workers
        super().__init__(kind)


class Job:
    """One run of a pipeline over a log, through whatever a plan has in store for it.

    Args:
        pipeline: the pipeline.
        lanes: per lane, its records in offset order.
        parts: the engine under test.
    """

    def __init__(self, pipeline: Pipeline, lanes: Sequence[Sequence[Record]], parts: Parts) -> None:
        self._pipeline = pipeline
        self._rules = [ValueRules.of(pipeline, number) for number in range(len(lanes))]
        self._queries = {query.name: query for query in pipeline.queries}
        self.log = [_raw(lane) for lane in lanes]
        self._lanes: list[Task] = [("lane", number) for number in range(len(lanes))]
        self._shards: list[Task] = [("shard", number) for number in range(pipeline.shards)]
        make_lane = parts.lanes(pipeline)

        def build(task: Task) -> Engine:
            return make_lane(task[1]) if task[0] == "lane" else parts.shard(pipeline)

        self._files, self.sink = parts.state(), parts.sink()
        self._cluster = parts.cluster(self._files, [*self._lanes, *self._shards], build)
        self._reported: set[str] = set()
        self.planned: list[Ends] = []
        self.commits = 0
        self.history = History(ends=self.planned)

    # --- between batches ---------------------------------------------------------------------

    def step(self, step: Step) -> None:
        """Take one step of a plan; one that finds nothing to do does nothing."""
        if step.lose_commit and self.commits:
            self.commits -= 1
            self._took_effect("commit entry lost")
            self._cluster.restart()
            self._finish_batch(Step(order=step.order + 1))
        if step.workers:
            self._took_effect("restart with other workers")
            self._cluster.restart(step.workers)
        if step.move and self._cluster.move(step.move):
            self._took_effect("tasks moved")
        begin = self.planned[-1] if self.planned else (0,) * len(self.log)
        end = tuple(
            min(at + take, len(rows.offsets))
            for at, take, rows in zip(begin, step.take, self.log, strict=True)
        )
        if end == begin:
            return
        damaged = self._damage(step.damage)
        if step.failures and step.failures[0].kind == "driver dies before the offsets are logged":
            self._took_effect(step.failures[0].kind)
            self._cluster.restart()
            step = msgspec.structs.replace(step, failures=step.failures[1:])
        self.planned.append(end)
        self._finish_batch(step)
        if damaged is not None:
            # The batch has loaded every state, and nobody complained.
            self.history.skipped += sorted(damaged - self._reported)

    def finish(self) -> None:
        """Deliver what is left of the log, and leave."""
        self.step(Step(take=tuple(len(rows.offsets) for rows in self.log)))
        self.leave()

    def leave(self) -> None:
        """Put what the sink holds into the history."""
        for table, items in self.sink.tables.items():
            for item in items:
                batch = self.history.batches[item.batch]
                if table == METRICS:
                    batch.metrics.append(item.content)
                else:
                    (batch.dead if table == DEAD else batch.rows).append(item.content)

    def _damage(self, which: int | None) -> set[str] | None:
        self._reported.clear()
        if which is None or not self.commits:
            return None
        tasks = [*self._lanes, *self._shards]
        name = self._files.damage(tasks[which % len(tasks)], self.commits)
        self._took_effect("state file damaged")
        self._cluster.restart()
        return {name}

    def _took_effect(self, kind: str) -> None:
        self.history.faults[kind] += 1

    # --- one batch ---------------------------------------------------------------------------

    def _finish_batch(self, step: Step) -> None:
        """Attempt the batch that has no commit entry until it has one."""
        batch, failures = self.commits, [*step.failures]
        for attempt in count():
            failure = failures[0] if failures else None
            try:
                self.attempt(batch, attempt, step, failure)
            except JobDied as death:
                failures = failures[1:]
                self._took_effect(death.kind)
                if death.workers:
                    self._cluster.restart()
            except StateDamaged as damage:
                # What an operator does who reads the message.
                self._reported.add(damage.file)
                self._files.repair(damage.file)
                self._cluster.restart()
            if self.commits > batch:
                return

    def attempt(self, batch: int, attempt: int, step: Step, failure: Failure | None) -> None:
        """Run a batch once; it ends with the commit entry, or dies before."""
        self._rng = random.Random(step.order * 1_000_003 + attempt)
        self._failure = failure
        self._die("driver dies after the offsets are logged")
        tables = self._execute(batch, step)
        lines = [line for name, lines in tables.items() if name != METRICS for line in lines]
        self.history.attempts[batch].append(frozenset(line[1] for line in lines))  # type: ignore[index]
        self.conclude(batch, attempt, tables, state_first=step.state_first)

    def conclude(self, batch: int, attempt: int, tables: Tables, *, state_first: bool) -> None:
        """Write sink and state, and the commit entry last."""
        if state_first:
            self.commit_states()
        self.write_sink(batch, self.token(batch, attempt), tables)
        if not state_first:
            self.commit_states()
        self._die("driver dies before the commit entry")
        self.commits = batch + 1
        self._die("driver dies after the commit entry")

    def token(self, batch: int, attempt: int) -> int:
        """What the sink knows a batch by."""
        del attempt  # the same for every attempt, or the sink could not tell
        return batch

    def write_sink(self, batch: int, token: int, tables: Tables) -> None:
        """Write a batch, table by table."""
        for number, (table, contents) in enumerate(tables.items()):
            self._die("driver dies among the tables", number, len(tables))
            self._die("sink refuses", number, len(tables), workers=False)
            self.sink.write(table, token, [Item(batch, content) for content in contents])
            self._die("sink does not answer", number, len(tables), workers=False)

    def commit_states(self) -> None:
        """Commit the next version of every task's state."""
        for number, (task, state) in enumerate(self._opened.items()):
            self._die("driver dies among the state commits", number, len(self._opened))
            self._cluster.commit(task, state)

    def _die(
        self, kind: FailureKind, number: int = 0, of: int = 1, *, workers: bool = True
    ) -> None:
        failure = self._failure
        if failure is not None and failure.kind == kind and failure.at % of == number:
            raise JobDied(kind, workers=workers)

    def _execute(self, batch: int, step: Step) -> Tables:
        """Run the lanes and the shards of a batch; give what they emit, table by table."""
        self._opened: dict[Task, Open] = {}
        chunks = self._chunks(batch, step)
        for task in self._lanes:
            self._open(task, batch)

        def lane(task: Task) -> list[Parcel]:
            engine = self._cluster.engine(task)
            assert isinstance(engine, Lane)  # noqa: S101 - by the task's kind
            packed = [pack(rows, self._rules[task[1]]) for rows in chunks[task]]
            return engine.step(self._open(task, batch), packed)

        sent = self._stage([*chunks], lane, "lanes")
        parcels = list(sent.values())
        self._rng.shuffle(parcels)

        def shard(task: Task) -> Emission:
            engine = self._cluster.engine(task)
            assert isinstance(engine, Shard)  # noqa: S101 - by the task's kind
            return engine.step(self._open(task, batch), [parts[task[1]] for parts in parcels])

        emitted = self._stage([*self._shards], shard, "shards")
        return self._tables(list(emitted.values()))

    def _open(self, task: Task, version: int) -> MemoryStore:
        self._opened[task] = state = self._cluster.open(task, version)
        return state.store

    def _stage(
        self, tasks: list[Task], run: Callable[[Task], Output], name: str
    ) -> dict[Task, Output]:
        """Run tasks in some order; where a worker dies, its tasks run again elsewhere."""
        self._rng.shuffle(tasks)
        lanes = name == "lanes"
        driver: FailureKind = (
            "driver dies among the lanes" if lanes else "driver dies among the shards"
        )
        worker: FailureKind = (
            "worker dies among the lanes" if lanes else "worker dies among the shards"
        )
        outputs = {}
        for number, task in enumerate(tasks):
            self._die(driver, number, len(tasks))
            outputs[task] = run(task)
        if self._failure is not None and self._failure.kind == worker:
            self._took_effect(worker)
            lost = self._cluster.kill(self._failure.at)
            outputs |= {task: run(task) for task in tasks if task in lost}
        return outputs

    def _chunks(self, batch: int, step: Step) -> dict[Task, list[RawRows]]:
        """Per lane that has any, the chunks of a batch, cut, repeated and shuffled."""
        begin = self.planned[batch - 1] if batch else (0,) * len(self.log)
        chunks = {}
        for task, rows, first, stop in zip(
            self._lanes, self.log, begin, self.planned[batch], strict=True
        ):
            start = max(0, first - step.rewind)
            if start == stop:
                continue
            cuts = [self._rng.randint(start, stop) for _ in range(step.pieces - 1)]
            edges = sorted({start, stop, *cuts})
            parts = [rows.part(a, b) for a, b in pairwise(edges)]
            parts += self._rng.choices(parts, k=step.twice) if step.twice else []
            self._rng.shuffle(parts)
            chunks[task] = parts
            self._count_delivery(step, first - start, len(edges) - 2)
        return chunks

    def _count_delivery(self, step: Step, resent: int, cuts: int) -> None:
        for kind, times in (
            ("chunk delivered twice", step.twice),
            ("records sent again", resent),
            ("chunk cut and shuffled", cuts),
        ):
            if times:
                self._took_effect(kind)

    def _tables(self, emissions: Sequence[Emission]) -> Tables:
        tables: Tables = {}
        for emission in emissions:
            for query, frame in emission.results.items():
                rows = rows_of(self._queries[query], self._pipeline, frame)
                lines: list[Line] = [(row_identity(row), row_line(row)) for row in rows]
                tables.setdefault(f"query {query}", []).extend(lines)
            for data in emission.dead_letters:
                letters = dead_letters_of(self._pipeline, data)
                dead: list[Line] = [(dead_letter_identity(d), dead_letter_line(d)) for d in letters]
                tables.setdefault(DEAD, []).extend(dead)
            for data in emission.metrics:
                tables.setdefault(METRICS, []).extend(self._metrics(data))
        return tables

    def _metrics(self, data: bytes) -> list[Metric]:
        return [
            Metric(
                lane=self._pipeline.source.lane(row["partition"]),
                query=row["query"],
                counts=tuple(row[name] for name in _COUNTS),
                progress_us=row["progress_us"],
                ended=row["ended"],
            )
            for row in from_bytes(data).iter_rows(named=True)
        ]


_COUNTS = ("read", "applied", "outside", "dropped", "dead")


def _raw(lane: Sequence[Record]) -> RawRows:
    return RawRows(
        offsets=[record.offset for record in lane],
        values=[record.value for record in lane],
        controls=[record.control for record in lane],
        append_us=[record.append_us for record in lane],
    )
