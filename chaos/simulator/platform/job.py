"""The simulated job: a driver that cuts a log into batches and runs each through the engine.

The protocol is Spark's: the offsets of a batch are written ahead, the batch is executed, the sink
written and the states committed (in either order), and a commit entry ends it. A restarted job
reruns the batch that has offsets but no commit entry, with the same offsets.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Mapping, Sequence

import msgspec

from chaos.simulator.added_lanes import with_lanes_of
from chaos.simulator.case import Case, Failure, PlannedBatch, SimulatedRecord
from chaos.simulator.history import SimulationHistory
from chaos.simulator.platform.between import Between
from chaos.simulator.platform.change import RunFile
from chaos.simulator.platform.cluster import SimulatedCluster
from chaos.simulator.platform.death import Fate, JobDied
from chaos.simulator.platform.delivery import SENT_AGAIN, chunks_of, cut_otherwise, end_of
from chaos.simulator.platform.disks import Scratch
from chaos.simulator.platform.execution import Execution
from chaos.simulator.platform.read_back import read_back
from chaos.simulator.platform.sink import Ends, TableItem
from chaos.simulator.platform.spelling import DEAD, Tables, early_rows, names, shown, spelling
from chaos.simulator.platform.start import StartCheck, compare
from chaos.simulator.platform.state import StateDamaged, Task, Values
from chaos.simulator.platform.tables import Rival, TableFolder
from chaos.simulator.platform.tasks import EngineUnderTest, Tasks, seeded
from windowing.engine.changes import QueriesChanged, after_all
from windowing.engine.reading.batches import raw_rows
from windowing.engine.storage.state import MemoryStore
from windowing.engine.tuning import tuned
from windowing.model.file.pipeline import Pipeline
from windowing.model.file.versions import with_shards
from windowing.model.run_errors import RedeliveredOffset, TangledChunks
from windowing.runtime.output import check_unchanged

__all__ = ["DEAD", "SimulatedJob", "Tables"]

_ATTEMPT_US, _ATTEMPTS_MAX = 1000, 100  # each takes some time, and a few bring any batch to its end


class SimulatedJob:
    """One run of a pipeline over a log, under the faults of a plan.

    Args:
        lanes: the records of each lane, in offset order.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        lanes: Sequence[Sequence[SimulatedRecord]],
        parts: EngineUnderTest,
        case: Case,
    ) -> None:
        self._case, self._parts, self._scratch = case, parts, Scratch()
        places = map(pipeline.source.place, range(len(lanes)))
        self.log = [raw_rows(own, source) for own, (source, _) in zip(lanes, places, strict=True)]
        self._files, self.sink = parts.state(), parts.sink()
        self.planned: list[Ends] = []
        self._disk = TableFolder(self._scratch, self.planned, len(self.log)) if case.disk else None
        self._rival: Rival | None = None
        founding = len(self.log) - sum(step.joins for step in case.plan)
        self._whole, pipeline = pipeline, with_lanes_of(pipeline, pipeline, founding)
        self._adopt(pipeline)
        self._file = RunFile(pipeline, self._files, self._seeded)
        self._reported: set[str] = set()
        self._wall_us = 0
        self.commits = 0
        self.history = SimulationHistory(ends=self.planned)

    def _adopt(self, pipeline: Pipeline) -> None:
        """Run a pipeline from now on, with new workers."""
        self._pipeline, self._lanes = pipeline, pipeline.source.partitions
        self._tasks = Tasks(pipeline, self._parts, self._case)
        self._spelled = spelling(pipeline, tables=self._case.tables)
        self._cluster = self._new_cluster()
        self._restart(keep_workers=True)

    def _restart(self, workers: int = 0, *, keep_workers: bool = False) -> None:
        """Start a new driver and, unless they live on, new workers; 0: as many as before."""
        if not keep_workers:
            self._cluster.restart(workers)
        if self._disk is not None:
            self._disk.restart()

    def _new_cluster(self) -> SimulatedCluster:
        tasks = [*self._tasks.lanes, *self._tasks.shards]
        folder = None if self._case.copies == "none" else self._scratch.new
        return self._parts.cluster(self._files, tasks, self._tasks.build, folder)

    def _seeded(self, after: Pipeline, stores: Mapping[Task, MemoryStore]) -> dict[Task, Values]:
        tasks = Tasks(after, self._parts, self._case)
        return seeded(tasks, stores, self._scratch.new() / "seed", self._between)

    def close(self) -> None:
        """Remove what the run has on a disk."""
        self._scratch.close()

    # --- between batches ---------------------------------------------------------------------

    def step(self, step: PlannedBatch) -> None:
        """Run one step of a plan, as far as it applies."""
        # The entry that a changed file begins with is the change's own, not a batch's.
        if step.lose_commit and self.commits > self._file.version:
            self.commits -= 1
            self._took_effect("commit entry lost")
            self._restart()
            self._finish_batch(PlannedBatch(order=step.order + 1))
        if step.workers:
            self._took_effect("restart with other workers")
            self._restart(step.workers)
        if step.move and self._cluster.move(step.move):
            self._took_effect("tasks moved")
        if step.restore and self.commits:
            self._restore_checkpoint(step)
        if step.shards not in (0, self._pipeline.shards) and self.commits:
            self.change(with_shards(self._pipeline, step.shards), self.commits, step.dies_in_change)
            step = msgspec.structs.replace(step, dies_in_change=None)
            self._took_effect("other shards")
        if step.joins:
            self._join(self._lanes + 1)
            self._took_effect("lane joined")
        if self._disk is not None and self.commits and self._disk.tidy(self._pipeline, step.order):
            self._took_effect("tables compacted")
        if step.lose_table is not None and self.commits:
            self._lose_table(step.lose_table)
        self._wall_us += step.wall_us
        begin = self.planned[-1] if self.planned else (0,) * len(self.log)
        end = end_of(self.log, self._lanes, begin, step.take)
        if end == begin:
            return
        damaged = self._damage(step.damage)
        if step.failures and step.failures[0].kind == "driver dies before the offsets are logged":
            self._took_effect(step.failures[0].kind)
            self._restart()
            step = msgspec.structs.replace(step, failures=step.failures[1:])
        self._plan(begin, end, step)
        self._finish_batch(step)
        if damaged is not None:
            # The batch has loaded every state without an error.
            self.history.skipped += [
                f"{file} was damaged and read" for file in sorted(damaged - self._reported)
            ]

    def finish(self) -> None:
        """Deliver the rest of the log, and record the sink's content."""
        self.step(PlannedBatch(take=tuple(len(rows.offsets) for rows in self.log)))
        self.leave()

    def leave(self) -> None:
        """Record the sink's content in the history."""
        if self._disk is not None:
            self._disk.sink(self._pipeline)
            read_back(self._disk, self._pipeline, self.history)
            return
        self.sink.enter_into(self.history)

    def _damage(self, which: int | None) -> set[str] | None:
        self._reported.clear()
        if which is None or not self.commits:
            return None
        task = self._tasks.stateful[which % len(self._tasks.stateful)]
        name = self._files.damage(task, self.commits)
        self._took_effect("state file damaged")
        self._restart()
        return {name}

    def _restore_checkpoint(self, step: PlannedBatch) -> None:
        """Restore the checkpoint from an old copy; the tables keep their content."""
        at = max(0, self.commits - step.restore)
        del self.planned[at:]
        self.commits = at
        self._file.restore(at)
        lanes = self._lanes
        self._adopt(self._file.pipeline)
        if lanes > self._lanes:
            self._join(lanes)
        self._took_effect("old checkpoint restored")
        # At start a job reruns the batches that only the tables have, by the tables' plans.
        for ends in self._compare().follow:
            self.planned.append(ends)
            self._finish_batch(PlannedBatch(order=step.order + 2))

    def _join(self, lanes: int) -> None:
        self.history.joined |= dict.fromkeys(range(self._lanes, lanes), self.commits)
        self._file.join(with_lanes_of(self._pipeline, self._whole, lanes), self.commits)
        self._adopt(self._file.pipeline)

    def _lose_table(self, which: int) -> None:
        """Lose a table, and restore its backup if the job names it."""
        self._took_effect("table lost")
        if self._disk is not None:
            named = self._disk.lost_and_named(self._pipeline, which, self.commits)
        else:
            self._restart()
            tables = names(self._pipeline)
            table = tables[which % len(tables)]
            named = self.sink.lost_and_named(table, lambda: self._compare().behind)
        if not named:
            self.history.skipped.append("a table was lost")

    def _compare(self) -> StartCheck:
        if self._disk is not None:
            return self._disk.compare(self._pipeline, self.commits)
        return compare(self.planned, self.commits, names(self._pipeline), self.sink.plans)

    def _plan(self, begin: Ends, end: Ends, step: PlannedBatch) -> None:
        if step.rival == "plans first":
            other = cut_otherwise(self.log, self._lanes, begin, end)
            self.log_offsets(len(self.planned), other)
            if self.log_offsets(len(self.planned) - 1, end):
                return
            # The first driver finds the entry and ends; restarted, it runs that batch.
            self._took_effect("second driver plans first")
            self._restart()
            return
        self.log_offsets(len(self.planned), end)

    def log_offsets(self, batch: int, ends: Ends) -> bool:
        """Log the offsets of a batch; return False if there is already an entry, which stays.

        The offset log accepts one entry per batch: of two drivers, one wins.
        """
        if batch < len(self.planned):
            return False
        self.planned.append(ends)
        return True

    def _took_effect(self, kind: str) -> None:
        self.history.faults[kind] += 1

    # --- one batch ---------------------------------------------------------------------------

    def _finish_batch(self, step: PlannedBatch) -> None:
        batch, failures = self.commits, [*step.failures]
        for attempt in range(_ATTEMPTS_MAX):
            failure = failures[0] if failures else None
            try:
                if step.rival == "same batch" and not failures:
                    self._run_beside(batch, attempt, step)
                    step = msgspec.structs.replace(step, rival=None)
                self.attempt(batch, attempt, step, failure)
            except JobDied as death:
                failures = failures[1:]
                self._took_effect(death.kind)
                self._restart(keep_workers=not death.workers)
            except StateDamaged as damage:
                # Repair the file, as an operator who reads the message would.
                self._reported.add(damage.file)
                self._files.repair(damage.file)
                self._restart()
            except QueriesChanged as found:
                self.change(after_all(self._pipeline, found.taken), batch, step.dies_in_change)
                self._took_effect("queries changed")
                step = msgspec.structs.replace(step, dies_in_change=None)
            except (RedeliveredOffset, TangledChunks) as refusal:
                lawful = self._case.strict or isinstance(refusal, TangledChunks)
                if not (lawful and self._sent_again):
                    raise
                # The engine on Spark raises this error; then deliver the batch as planned.
                self._took_effect("redelivery refused")
                step = msgspec.structs.replace(step, rewind=0, twice=0)
                self._restart()
            else:
                if self._case.strict and self._sent_again:
                    self.history.skipped.append(f"records of batch {batch} were sent again")
            if self.commits > batch:
                return
        msg = f"batch {batch} comes to no end: the job begins it again and again"
        raise RuntimeError(msg)

    def change(self, after: Pipeline, batch: int, dies_at: int | None) -> None:
        """Continue with another pipeline, from the state before a batch; the driver may die."""
        for number, _ in enumerate(self._file.change(after, batch, self._tasks.stateful)):
            if number == dies_at:
                self._took_effect("driver dies in a change of the pipeline")
                break
        # What the driver, or the next one, does at its start.
        deque(self._file.resume(), maxlen=0)
        before = self._pipeline
        self._adopt(self._file.pipeline)
        if self._disk is not None:
            self._disk.begin(before, self._pipeline, batch - 1)
        else:
            self.sink.begin_behind(batch - 1, names(self._pipeline))

    def _run_beside(self, batch: int, attempt: int, step: PlannedBatch) -> None:
        """Run the same batch with a second driver and its own workers, up to its commit entry."""
        own, self._cluster = self._cluster, self._new_cluster()
        sink = None if self._disk is None else self._disk.restart()
        try:
            self._begin(step, attempt, None)
            with tuned(**self._case.thresholds(self._cluster.restarts)):
                tables = self._execute(batch, msgspec.structs.replace(step, rewind=0, twice=0))
            self.history.attempts[batch].append(shown(tables))
            if self._disk is not None and step.order % 3:
                # It writes while the first driver does.
                self._rival = self._disk.rival(self._pipeline, batch, step.order)
            else:
                self.write_sink(batch, self.token(batch, attempt), tables)
            if step.order % 2:
                self.commit_states()
        finally:
            self._cluster = own
            if self._disk is not None:
                self._disk.restart(sink)
        # The first driver writes the commit entry; the second finds it and ends.
        self._took_effect("second driver on the same batch")

    def attempt(
        self, batch: int, attempt: int, step: PlannedBatch, failure: Failure | None
    ) -> None:
        """Run a batch once, up to the commit entry or a failure."""
        self._begin(step, attempt, failure)
        self._fate.pass_by("driver dies after the offsets are logged")
        with tuned(**self._case.thresholds(self._cluster.restarts)):
            tables = self._execute(batch, step)
        self.history.attempts[batch].append(shown(tables))
        self.conclude(batch, attempt, tables, state_first=step.state_first)

    def _begin(self, step: PlannedBatch, attempt: int, failure: Failure | None) -> None:
        self._rng = random.Random(step.order * 1_000_003 + attempt)
        self._between = Between(random.Random(f"{step.order}:{attempt}"))
        self._fate, self._sent_again = Fate(failure), False
        if self._case.copies == "damaged":
            spoilt = self._cluster.damage_copies(random.Random(f"{step.order}:{attempt}:copies"))
            self.history.faults += +Counter({"copies of state damaged": spoilt})
        self._wall_us += _ATTEMPT_US

    def conclude(self, batch: int, attempt: int, tables: Tables, *, state_first: bool) -> None:
        """Write the sink, commit the states, and write the commit entry last."""
        if state_first:
            self.commit_states()
        self.write_sink(batch, self.token(batch, attempt), tables)
        if not state_first:
            self.commit_states()
        self._fate.pass_by("driver dies before the commit entry")
        self.commits = batch + 1
        self._fate.pass_by("driver dies after the commit entry")

    def token(self, batch: int, attempt: int) -> int:
        """Return the token by which the sink recognizes a batch, the same for all attempts."""
        return batch

    def write_sink(self, batch: int, token: int, tables: Tables) -> None:
        """Write a batch, table by table."""
        if self._disk is not None:
            rival, self._rival = self._rival, None
            self._disk.write(self._pipeline, batch, self._fate, rival)
            return
        for number, (table, contents) in enumerate(tables.items()):
            self._fate.pass_by("driver dies among the tables", number, len(tables))
            self._fate.pass_by("sink refuses", number, len(tables), workers=False)
            self.sink.write(table, token, [TableItem(batch, content) for content in contents])
            self.sink.plans[table].setdefault(batch, self.planned[batch])
            self._fate.pass_by("sink does not answer", number, len(tables), workers=False)

    def commit_states(self) -> None:
        """Commit the next version of every task's state."""
        for number, (task, state) in enumerate(self._opened.items()):
            self._fate.pass_by("driver dies among the state commits", number, len(self._opened))
            self._cluster.commit(task, state)

    def _execute(self, batch: int, step: PlannedBatch) -> Tables:
        begin = self.planned[batch - 1] if batch else (0,) * len(self.log)
        chunks, befell = chunks_of(self.log, begin, self.planned[batch], step, self._rng)
        self.history.faults += befell
        self.history.heard[batch] = self._wall_us, frozenset(chunks)
        self._sent_again = any(kind in befell for kind in SENT_AGAIN)
        running = Execution(
            batch, self._tasks, self._cluster, self._fate, self._rng, self._between, self._wall_us
        )
        self._opened = running.opened
        try:
            emitted = running.emissions(chunks)
        finally:
            self.history.faults += running.befell
        if self._disk is not None:
            self._disk.file(self._pipeline, batch, emitted, self._between.rng)
        self.emitted = [frame for frames in emitted for frame in frames]
        check_unchanged(self.emitted)
        self.history.early[batch] = early_rows(self._pipeline, emitted)
        return self._spelled(emitted, batch)
