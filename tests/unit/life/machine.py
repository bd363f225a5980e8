"""A model of runs in their user's hands: submit, edit, kill, stop, start, two submitted at once.

What is checked after every step: never two drivers of a pipeline, never a run that nobody sees,
never RUNNING for a job that cannot run, and every state is one that the steps so far allow.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from infra import spark_rest
from infra.endpoints import Endpoints
from jobs import runs
from jobs.runs.job_order import run_of_job
from jobs.runs.life import SILENT_DEATHS_MAX, State
from jobs.runs.overview import Overview, overview
from windowing.model import load_pipeline

GOOD, BAD = "ebb", "nowhere"
"""The topic of a file whose job can run, and of one whose job cannot: there is no such topic."""

NAMES = ("r1", "r2")
FILE = """
name: {name}
source:
  topic: {topic}
  partitions: 1
  format: json
  event_time: {{field: ts, unit: us, min: "1970-01-01", max: "2100-01-01"}}
  fields: {{v: int}}
  disorder: {{slack: 5 seconds}}
shards: 1
queries:
  tens:
    window: RANGE 10 seconds SLIDE 10 seconds WATTR ts
    aggregates: {{n: count}}
sink: {{table: {name}}}
"""


class World(Protocol):
    """A cluster, real or pretended."""

    @property
    def endpoints(self) -> Endpoints:
        """Where it answers."""

    def settle(self) -> None:
        """Let everything happen that happens by itself."""

    def kill_a_driver(self) -> bool:
        """SIGKILL a driver's process; False: there is none."""


@dataclass
class Expected:
    """What is known of a run.

    Attributes:
        topic: of its own copy of the file.
        order: None: it is to run; else the state that it was asked to have.
    """

    topic: str
    order: State | None = None

    @property
    def allowed(self) -> set[State]:
        if self.order is not None:
            return {State.stopping, self.order}
        starting = {State.submitted, State.waiting, State.restarting}
        return starting | ({State.failed} if self.topic == BAD else {State.running})

    @property
    def settled(self) -> State:
        return self.order or (State.failed if self.topic == BAD else State.running)


class Runs(RuleBasedStateMachine):
    """The model; a subclass gives it a world."""

    world: World
    folder: Path
    pipeline = "tide"

    @initialize()
    def nothing_is_there(self) -> None:
        self.file = self.folder / f"{self.pipeline}.yml"
        self.expected: dict[str, Expected] = {}
        self.live: str | None = None
        self.kills, self.is_settled = 0, True
        self._edit(GOOD)

    @property
    def endpoints(self) -> Endpoints:
        return self.world.endpoints

    def _edit(self, topic: str) -> None:
        self.topic = topic
        self.file.write_text(FILE.format(name=self.pipeline, topic=topic))

    def _submit(self, run: str) -> runs.Run:
        return runs.submit(self.endpoints, load_pipeline(self.file), self.file, run)

    def _has_begun(self, run: str) -> None:
        """A run was submitted or started: it is live, and all others are superseded by it."""
        for other, known in self.expected.items():
            if other != run and known.order is None and not self._may_have_failed(other):
                known.order = State.superseded
        self.expected[run] = Expected(self._topic_of(run))
        self.live, self.is_settled = run, False

    def _topic_of(self, run: str) -> str:
        return runs.find(self.endpoints, load_pipeline(self.file), run).own_pipeline().source.topic

    def _may_have_failed(self, run: str) -> bool:
        """Whether a job may have ended by itself before it could be asked to."""
        return self._states()[run].life.state is State.failed

    def _states(self) -> dict[str, Overview]:
        """All runs as `slackwater runs` sees them; it waits for no broker."""
        blind = replace(self.endpoints, kafka_bootstrap="")
        return {one.run.run: one for one in overview(blind, self.pipeline)}

    def _living(self) -> list[str]:
        return [
            found
            for one in spark_rest.list_drivers(self.endpoints)
            if one.state in spark_rest.ALIVE
            and (found := run_of_job(one.name, self.pipeline)) is not None
        ]

    @rule(topic=st.sampled_from([GOOD, BAD]))
    def edit(self, topic: str) -> None:
        """The user's file changes; no run does."""
        self._edit(topic)

    @rule(run=st.sampled_from(NAMES))
    def submit(self, run: str) -> None:
        """A living job keeps its copy of the file; else the file is taken as it is now."""
        before = self.expected.get(run)
        lives = self.is_settled and run in self._living()
        dead = before is None or before.order is not None
        self._submit(run)
        if lives:
            assert before is not None
            assert self._topic_of(run) == before.topic
        elif dead or self.is_settled:
            assert self._topic_of(run) == self.topic
        self._has_begun(run)

    @rule()
    def submit_two_at_once(self) -> None:
        """Whoever comes second supersedes the first."""
        with ThreadPoolExecutor(len(NAMES)) as pool:
            list(pool.map(self._submit, NAMES))
        (winner,) = self._living() or [self._submit(NAMES[0]).run]
        for run in NAMES:
            if run != winner:
                order = State.superseded
                self.expected[run] = Expected(self._topic_of(run), order)
                if self._states()[run].life.state is State.failed:
                    self.expected[run].order = None
        self._has_begun(winner)

    @precondition(lambda self: self.expected)
    @rule(every=st.booleans())
    def stop(self, every: bool) -> None:
        """End the job of the live run, or all jobs, which is the same where one is allowed."""
        live = runs.find(self.endpoints, load_pipeline(self.file), str(self.live))
        if every:
            stopped = runs.stop_all(self.endpoints, self.pipeline)
        else:
            stopped = runs.stop_run(self.endpoints, live)
        assert stopped in ([], [self.live])
        for run in stopped:
            self.expected[run].order = State.stopped

    @precondition(lambda self: self.expected)
    @rule(run=st.sampled_from(NAMES))
    def start(self, run: str) -> None:
        """A run continues with its own copy, unless another one lives."""
        if run not in self.expected:
            return
        found = runs.find(self.endpoints, load_pipeline(self.file), run)
        topic, others = self.expected[run].topic, [one for one in self._living() if one != run]
        if others:
            with pytest.raises(runs.RunError, match=others[0]):
                runs.start(self.endpoints, found)
            return
        runs.start(self.endpoints, found)
        assert self._topic_of(run) == topic
        self._has_begun(run)

    @precondition(lambda self: self.kills < SILENT_DEATHS_MAX - 1)
    @rule()
    def kill(self) -> None:
        """Under supervision the driver comes back, and continues."""
        if self.world.kill_a_driver():
            self.kills += 1
            self.is_settled = False

    @rule()
    def wait(self) -> None:
        """After a while every run is what it is to be."""
        self.world.settle()
        self.is_settled, self.kills = True, 0
        seen = self._states()
        for run, known in self.expected.items():
            assert seen[run].life.state is known.settled, (run, seen[run].life)
            if known.settled is State.running:
                assert seen[run].restarts == 0
        running = [run for run, known in self.expected.items() if known.settled is State.running]
        assert self._living() == running

    @invariant()
    def never_two_drivers(self) -> None:
        if hasattr(self, "expected"):
            assert len(self._living()) <= 1

    @invariant()
    def every_run_is_seen_as_what_it_may_be(self) -> None:
        if not hasattr(self, "expected"):
            return
        seen = self._states()
        assert seen.keys() == self.expected.keys()
        assert [run for run, one in seen.items() if one.live] == ([self.live] if seen else [])
        for run, known in self.expected.items():
            life = seen[run].life
            assert life.state in known.allowed, (run, known, life)
            if life.state is State.superseded:
                assert life.why is not None
            if life.state is State.failed:
                assert life.why

    def teardown(self) -> None:
        if hasattr(self, "expected"):
            runs.stop_all(self.endpoints, self.pipeline)
