"""Runs as child processes, watched for their memory; which rounds of them there is time for."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl
import psutil

from benchmarks.cases import Case
from benchmarks.child import Task
from benchmarks.events import LANES
from benchmarks.kafka_paths import Topic
from benchmarks.paths import BY_THE_JVM, Timing
from infra import stack
from infra.layout import FLINK_VENV, ROOT, Layout
from infra.process import memory_of
from jobs.brokers.topics import create_topic

_LOOK_S = 0.2

PATHS = (
    "slackwater",
    BY_THE_JVM,
    "spark in-memory",
    "spark rocksdb",
    "floor",
    "bare stages",
    "flink sql",
    "duckdb",
)
OURS = PATHS[0]
_WITHOUT_KAFKA = (BY_THE_JVM, "bare stages", "flink sql", "duckdb")
_WITHOUT_RESULTS = ("floor", "bare stages")


class RunFailed(Exception):
    """A run that ended without an answer; the text has its last words."""


@dataclass(frozen=True)
class RunTiming(Timing):
    """What one run took.

    Attributes:
        peak_bytes: the most memory that all its processes had together, at any look at them;
            pages that several share count once.
        cpu_s: CPU time of all its processes, from their start.
    """

    peak_bytes: int
    cpu_s: float


@dataclass
class Bench:
    """What all runs share.

    Attributes:
        batches: into how many batches the events are cut.
        small_events: how many events the comparison of results has.
        bootstrap: `host:port` of a broker, for cases that read a topic.
    """

    folder: Path
    cores: int
    memory: str
    batches: int
    small_events: int
    bootstrap: str = ""
    _filled: set[str] = field(default_factory=set)

    def measured(self, case: Case, path: str, events: int) -> RunTiming:
        """Run a path once, and discard its rows.

        Raises:
            RunFailed: it gave no answer.
        """
        data = case.data(self.folder, events, self.batches)
        return self._run(self._task(case, path, data, events // self.batches))

    def rows(self, case: Case, path: str) -> pl.DataFrame:
        """Return what a path computes on the smaller set.

        Raises:
            RunFailed: it gave no answer.
        """
        data = case.small_data(self.folder, self.small_events)
        task = self._task(case, path, data, self.small_events // 4)
        with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
            self._run(replace(task, rows=file.name))
            return pl.read_parquet(file.name)

    def _task(self, case: Case, path: str, data: Path, batch: int) -> Task:
        small = case.small_data(self.folder, self.small_events)
        task = Task(path, case.name, str(data), str(small), self.cores, self.memory, answer="")
        return replace(task, topic=self._topic(task, batch)) if case.from_topic else task

    def _topic(self, task: Task, batch: int) -> Topic:
        topic = Topic(self.bootstrap, Path(task.data).name, batch)
        if topic.name not in self._filled:
            create_topic(self.bootstrap, topic.name, LANES)
            self._run(replace(task, path="topic", topic=topic))
            self._filled.add(topic.name)
        return topic

    def _run(self, task: Task) -> RunTiming:
        with tempfile.TemporaryDirectory(prefix="slackwater-benchmark-") as folder:
            answer, log = Path(folder) / "answer.json", Path(folder) / "log"
            text = replace(task, answer=str(answer)).to_json()
            command = [*_pinned(task.cores), sys.executable, "-m", "benchmarks.child", text]
            with log.open("wb") as out:
                child = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out)
            peak, cpu_s = _watched(child)
            if child.returncode != 0:
                said = log.read_text(encoding="utf-8", errors="replace")[-3_000:]
                msg = f"{task.case}, {task.path} ended with code {child.returncode}:\n{said}"
                raise RunFailed(msg)
            took = json.loads(answer.read_text(encoding="utf-8"))
            return RunTiming(**took, peak_bytes=peak, cpu_s=cpu_s)


def paths_of(case: Case, paths: tuple[str, ...], *, with_rows: bool = False) -> list[str]:
    """List the paths that can run a case; Flink only if it is installed (`make setup-flink`).

    `with_rows` leaves out those that compute nothing.
    """
    left_out = {
        *(_WITHOUT_KAFKA if case.from_topic else ()),
        *(_WITHOUT_RESULTS if with_rows else ()),
        *(() if FLINK_VENV.exists() else ("flink sql",)),
    }
    return [path for path in paths if path not in left_out]


@contextmanager
def broker(cases: list[Case]) -> Iterator[str]:
    """Provide our own broker if a case reads a topic, and stop it afterwards."""
    if not any(case.from_topic for case in cases):
        yield ""
        return
    with tempfile.TemporaryDirectory(prefix="slackwater-benchmark-") as folder:
        layout = Layout(Path(folder))
        try:
            yield stack.up(only=["kafka"], layout=layout).kafka_bootstrap
        finally:
            stack.down(layout=layout)


def _watched(child: subprocess.Popen[bytes]) -> tuple[int, float]:
    """Wait for a process; return the most memory of its family in bytes, and its CPU seconds."""
    peak, cpu_s = 0, dict[psutil.Process, float]()
    try:
        while child.poll() is None:
            peak = max(peak, memory_of(child.pid))
            cpu_s |= _cpu_s(child.pid)
            time.sleep(_LOOK_S)
    finally:
        if child.poll() is None:
            child.terminate()
            child.wait()
    return peak, sum(cpu_s.values())


def _cpu_s(pid: int) -> dict[psutil.Process, float]:
    """Return the CPU seconds of a process and its descendants, of each so far."""
    found = {}
    with suppress(psutil.Error):  # ended while we were counting
        process = psutil.Process(pid)
        for member in (process, *process.children(recursive=True)):
            times = member.cpu_times()
            found[member] = times.user + times.system
    return found


def _pinned(cores: int) -> list[str]:
    """Return the words before a command that keep it on the first cores, where Linux can."""
    if not hasattr(os, "sched_setaffinity"):
        return []
    return ["taskset", "--cpu-list", f"0-{cores - 1}"]


Runs = dict[str, dict[str, list[RunTiming]]]
"""Per case and path, one run for each round."""


def whole(measured: Runs) -> Runs:
    """Return the rounds that every path of a case has run."""
    found = {}
    for case, by_path in measured.items():
        fewest = min(map(len, by_path.values()))
        found[case] = {path: runs[:fewest] for path, runs in by_path.items()}
    return found


@dataclass
class Progress:
    """What was measured so far, and whether there is time for more.

    Attributes:
        deadline: by `time.monotonic`; None: there is none.
        took_s: per case and path, how long the runs took as a whole.
    """

    deadline: float | None
    measured: Runs = field(default_factory=dict)
    took_s: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def has(self, number: int, case: Case, path: str) -> bool:
        """Whether a path has run in a round, counted from 0."""
        return len(self.measured.get(case.name, {}).get(path, ())) > number

    def has_time(self, case: Case, path: str) -> bool:
        """Whether a run would end in time, if it takes as long as those before it."""
        if self.deadline is None:
            return True
        before = self.took_s.get((case.name, path), [0.0])
        return time.monotonic() + statistics.median(before) <= self.deadline

    def add(self, case: Case, path: str, run: RunTiming, took_s: float) -> None:
        """Take a run."""
        self.measured.setdefault(case.name, {}).setdefault(path, []).append(run)
        self.took_s.setdefault((case.name, path), []).append(took_s)
