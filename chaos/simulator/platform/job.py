"""The simulated job: a driver that cuts batches from a log and takes each through the engine.

The order of things is Spark's: the offsets of a batch are written ahead, the batch is executed, the
sink written, the states committed (or these two the other way round), and a commit entry ends it. A
restarted job runs the batch again that has offsets and no commit entry, with the same offsets.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, TypeVar

import msgspec

from chaos.simulator.case import Case, Failure, FailureKind, Record, Step
from chaos.simulator.history import History
from chaos.simulator.platform.cluster import Cluster, Engine, Open
from chaos.simulator.platform.delivery import SENT_AGAIN, chunks_of, raw
from chaos.simulator.platform.sink import Ends, Item
from chaos.simulator.platform.spelling import DEAD, METRICS, Tables, names, spelling
from chaos.simulator.platform.start import Stand, compare
from chaos.simulator.platform.state import StateDamaged, Task
from windowing.engine.input.pack import pack
from windowing.engine.input.values import ValueRules
from windowing.engine.lane import Lane
from windowing.engine.parcel import Parcel
from windowing.engine.plan import plan_of
from windowing.engine.shard import Emission, Shard
from windowing.engine.state import MemoryStore
from windowing.model.file.pipeline import Pipeline
from windowing.model.run_errors import RedeliveredOffset

if TYPE_CHECKING:
    from chaos.simulator.platform.parts import Parts

__all__ = ["DEAD", "METRICS", "Job", "JobDied", "Tables"]

Output = TypeVar("Output")

# An attempt takes its time, too.
_ATTEMPT_US = 1000


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
        case: how its lanes, shards and sink are set up.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        lanes: Sequence[Sequence[Record]],
        parts: Parts,
        case: Case,
    ) -> None:
        self._pipeline, self._case = pipeline, case
        self._rules = [ValueRules.of(pipeline, number) for number in range(len(lanes))]
        self.log = [raw(lane) for lane in lanes]
        self.plan = plan_of(pipeline)
        self._lanes: list[Task] = [("lane", number) for number in range(len(lanes))]
        self._shards: list[Task] = [("shard", number) for number in range(self.plan.shards)]
        self._parts, self._make_lane = parts, parts.lanes(self.plan)
        self._files, self.sink = parts.state(), parts.sink()
        self._cluster = self._new_cluster()
        self._spelled = spelling(pipeline, tables=case.tables)
        self._reported: set[str] = set()
        self._wall_us = 0
        self.planned: list[Ends] = []
        self.commits = 0
        self.history = History(ends=self.planned)

    def _new_cluster(self) -> Cluster:
        return self._parts.cluster(self._files, [*self._lanes, *self._shards], self._build)

    def _build(self, task: Task) -> Engine:
        if task[0] == "lane":
            lane = self._make_lane(task[1])
            lane.redelivered = "error" if self._case.strict else "skip"
            return lane
        shard = self._parts.shard(self.plan)
        shard.compact_after = self._case.compact_after
        return shard

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
        if step.restore and self.commits:
            self._restore_checkpoint(step)
        if step.lose_table is not None and self.commits:
            self._lose_table(step.lose_table)
        self._wall_us += step.wall_us
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
        self._plan(begin, end, step)
        self._finish_batch(step)
        if damaged is not None:
            # The batch has loaded every state, and nobody complained.
            self.history.skipped += [
                f"{file} was damaged and read" for file in sorted(damaged - self._reported)
            ]

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

    def _restore_checkpoint(self, step: Step) -> None:
        """Put the checkpoint back from an old copy; the tables keep what they have."""
        at = max(0, self.commits - step.restore)
        del self.planned[at:]
        self.commits = at
        self._took_effect("old checkpoint restored")
        self._cluster.restart()
        # A job starts by running again what the tables hold, as their plans say.
        for ends in self._compare().follow:
            self.planned.append(ends)
            self._finish_batch(Step(order=step.order + 2))

    def _lose_table(self, which: int) -> None:
        """Lose a table; an operator who is told which has a backup of it."""
        tables = names(self._pipeline)
        name = tables[which % len(tables)]
        copy = self.sink.lose(name)
        self._took_effect("table lost")
        self._cluster.restart()
        if name in self._compare().behind:
            self.sink.put_back(name, copy)
        else:
            self.history.skipped.append(f"table {name!r} was lost")

    def _compare(self) -> Stand:
        return compare(self.planned, self.commits, names(self._pipeline), self.sink.plans)

    def _plan(self, begin: Ends, end: Ends, step: Step) -> None:
        """Write the offsets of the next batch ahead, if nobody has."""
        if step.rival == "plans first":
            self.log_offsets(len(self.planned), self._cut_otherwise(begin, end))
            if self.log_offsets(len(self.planned) - 1, end):
                return
            # The first driver finds the entry, ends, and is started again: it runs that batch.
            self._took_effect("second driver plans first")
            self._cluster.restart()
            return
        self.log_offsets(len(self.planned), end)

    def _cut_otherwise(self, begin: Ends, end: Ends) -> Ends:
        """Another end of a batch than this one, if there is any."""
        more = tuple(min(at + 1, len(rows.offsets)) for at, rows in zip(end, self.log, strict=True))
        half = tuple((first + 1 + stop) // 2 for first, stop in zip(begin, end, strict=True))
        return more if more != end else half

    def log_offsets(self, batch: int, ends: Ends) -> bool:
        """Write the offsets of a batch; False: there is an entry already, and it stays.

        The log of offsets takes one entry per batch, whoever writes it: of two drivers one wins.
        """
        if batch < len(self.planned):
            return False
        self.planned.append(ends)
        return True

    def _took_effect(self, kind: str) -> None:
        self.history.faults[kind] += 1

    # --- one batch ---------------------------------------------------------------------------

    def _finish_batch(self, step: Step) -> None:
        """Attempt the batch that has no commit entry until it has one."""
        batch, failures = self.commits, [*step.failures]
        for attempt in count():
            failure = failures[0] if failures else None
            try:
                if step.rival == "same batch" and not failures:
                    self._run_beside(batch, attempt, step)
                    step = msgspec.structs.replace(step, rival=None)
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
            except RedeliveredOffset:
                if not (self._case.strict and self._sent_again):
                    raise
                # The error that Spark's lanes have for it; what is sent next is what was planned.
                self._took_effect("redelivery refused")
                step = msgspec.structs.replace(step, rewind=0, twice=0)
                self._cluster.restart()
            else:
                if self._case.strict and self._sent_again:
                    self.history.skipped.append(f"records of batch {batch} were sent again")
            if self.commits > batch:
                return

    def _run_beside(self, batch: int, attempt: int, step: Step) -> None:
        """A second driver runs the same batch with workers of its own, up to its commit entry."""
        own, self._cluster = self._cluster, self._new_cluster()
        try:
            self._begin(step, attempt, None)
            tables = self._execute(batch, msgspec.structs.replace(step, rewind=0, twice=0))
            self._note(batch, tables)
            self.write_sink(batch, self.token(batch, attempt), tables)
            if step.order % 2:
                self.commit_states()
        finally:
            self._cluster = own
        # The first driver writes the commit entry; the second finds it there, and ends.
        self._took_effect("second driver on the same batch")

    def attempt(self, batch: int, attempt: int, step: Step, failure: Failure | None) -> None:
        """Run a batch once; it ends with the commit entry, or dies before."""
        self._begin(step, attempt, failure)
        self._die("driver dies after the offsets are logged")
        tables = self._execute(batch, step)
        self._note(batch, tables)
        self.conclude(batch, attempt, tables, state_first=step.state_first)

    def _begin(self, step: Step, attempt: int, failure: Failure | None) -> None:
        self._rng = random.Random(step.order * 1_000_003 + attempt)
        self._failure, self._sent_again = failure, False
        self._wall_us += _ATTEMPT_US

    def _note(self, batch: int, tables: Tables) -> None:
        """Note what an attempt came to: its rows and dead letters, not what it counted."""
        lines = [line for name, lines in tables.items() if name != METRICS for line in lines]
        self.history.attempts[batch].append(frozenset(line[1] for line in lines))  # type: ignore[index]

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
            self.sink.plans[table].setdefault(batch, self.planned[batch])
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
        begin = self.planned[batch - 1] if batch else (0,) * len(self.log)
        chunks, befell = chunks_of(self.log, begin, self.planned[batch], step, self._rng)
        self.history.faults += befell
        self._sent_again = any(kind in befell for kind in SENT_AGAIN)
        for task in self._lanes:
            self._open(task, batch)

        def lane(task: Task) -> list[Parcel]:
            engine = self._cluster.engine(task)
            assert isinstance(engine, Lane)  # noqa: S101 - by the task's kind
            packed = [pack(rows, self._rules[task[1]]) for rows in chunks[task[1]]]
            return engine.step(self._open(task, batch), packed)

        sent = self._stage([self._lanes[number] for number in chunks], lane, "lanes")
        parcels = list(sent.values())
        self._rng.shuffle(parcels)

        def shard(task: Task) -> Emission:
            engine = self._cluster.engine(task)
            assert isinstance(engine, Shard)  # noqa: S101 - by the task's kind
            own = [parts[task[1]] for parts in parcels]
            return engine.step(self._open(task, batch), own, self._wall_us)

        emitted = self._stage([*self._shards], shard, "shards")
        return self._spelled(list(emitted.values()), batch)

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
