"""Demonstration of the platform on real data, with faults during the run and a verified result.

This module only calls the steps in order, times them, and prints a summary.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.text import Text

from chaos import faults
from chaos.faults import Inject
from chaos.readers.catalogue import read_output
from chaos.readers.output import Output
from chaos.readers.topic import read_topic
from chaos.verdict.in_parts import Means
from chaos.verdict.verify import Verdict, verify
from infra import elsewhere, outside, stack
from infra.airflow_api import AirflowApi
from infra.endpoints import Endpoints
from infra.errors import InfraError
from infra.redacted import shown
from jobs import runs
from jobs.brokers.topics import create_topics
from jobs.datasets import flights
from jobs.runs.folder import find_named
from jobs.runs.verdicts import Judge, keep_verdict
from jobs.tools.plot import plot
from slackwater.console import FAILED, PASSED, UNKNOWN, bar, plain, report
from windowing.model import Pipeline, load_pipeline

ROOT = Path(__file__).resolve().parent.parent
PIPELINE = ROOT / "pipelines" / "flight_delays.yml"

# Time limits of steps.
_RUN_S, _COMMIT_S = 1800.0, 600.0


@dataclass
class Demo:
    """One demonstration.

    Attributes:
        max_offsets: maximum offsets per batch, small enough that the job lasts for the faults.
        which: the stack, a key of `infra.stack.STACKS`.
    """

    max_offsets: int
    console: Console
    which: str = "standalone"
    steps: list[tuple[str, float]] = field(default_factory=list)
    faults: list[faults.InjectedFault] = field(default_factory=list)

    def run(self) -> int:
        """Run everything; return the exit code."""
        pipeline = load_pipeline(PIPELINE)
        name = f"demo-{datetime.now(UTC):%Y%m%d-%H%M%S}"
        with self._step("stack up"):
            endpoints = stack.up(report, only=stack.STACKS[self.which])
        with self._step("publish the flights"):
            self._publish(pipeline, endpoints)
        breaking = "" if elsewhere.is_named() else ", break it twice"
        with self._step(f"deploy by Airflow{breaking}"):
            try:
                watch = self._deploy(pipeline, endpoints, name)
            except faults.FaultDidNotApply as error:
                self.console.print(
                    Text.assemble(
                        ("unknown:", "red"), " a fault did not take effect: ", plain(str(error))
                    )
                )
                return UNKNOWN
        table = runs.table_of(endpoints, pipeline)
        with self._step("verify against the definition, beside the quality checks"):
            log = read_topic(endpoints.kafka_bootstrap, pipeline.source.topic)
            output = read_output(pipeline, table, name)
            means = Means(jobs=len(os.sched_getaffinity(0)))
            verdict = verify(pipeline, log, output, means)
            run = find_named(endpoints, pipeline.name, name)
            keep_verdict(run, Judge.verify, passed=verdict.ok, sentence=verdict.lines()[-1])
            watch.until_done("publish")
        with self._step("plot"):
            picture = endpoints.state_dir / "flight_delays.png"
            (hourly, *_) = pipeline.flows
            rows = (json.loads(line) for _, line in output.rows)
            plot(pipeline, hourly, rows, picture, "mean_delay")
        self._summary(pipeline, verdict, output)
        self._places(pipeline, endpoints, table, picture)
        return PASSED if verdict.ok else FAILED

    @contextmanager
    def _step(self, title: str) -> Iterator[None]:
        self.console.rule(Text(title, "bold"), align="left")
        began = time.monotonic()
        yield
        took = time.monotonic() - began
        self.steps.append((title, took))
        self.console.print(f"  done in {took:.1f} s")

    def _publish(self, pipeline: Pipeline, endpoints: Endpoints) -> None:
        create_topics(pipeline, endpoints.kafka_bootstrap)
        with bar("  publishing") as shown:
            task = shown.task_ids[0]
            published = flights.publish(
                endpoints.kafka_bootstrap,
                lambda done, total: shown.update(task, completed=done, total=total),
            )
        self.console.print(
            f"  {published.records:,} records on topic {pipeline.source.topic}, "
            f"{published.appended:,} of them appended now"
        )

    def _deploy(self, pipeline: Pipeline, endpoints: Endpoints, name: str) -> _DagWatch:
        """Trigger the pipeline's DAG, break the job while it runs, and wait until it is done."""
        for stopped in runs.stop(endpoints, pipeline):
            self.console.print(f"  ended the job of an earlier run, {stopped}")
        api = AirflowApi(endpoints)
        api.unpause(pipeline.name)
        conf = {"run": name, "max_offsets": self.max_offsets}
        api.trigger(pipeline.name, name, conf)
        self.console.print(f"  DAG {pipeline.name} triggered, run {name}")
        watch = _DagWatch(api, pipeline.name, name, self.console)
        checkpoint = runs.checkpoint_of(endpoints, pipeline, name)
        if elsewhere.is_named():
            self.console.print("  no faults: the processes of this stack are on other machines")
        else:
            self._inject(faults.kill_executor, checkpoint, watch)
            self._inject(faults.kill_driver, checkpoint, watch)
        watch.until_done("wait_for_progress")
        return watch

    def _inject(self, fault: Inject, checkpoint: Path, watch: _DagWatch) -> None:
        """Inject the fault after two more batches, and measure the time to the next one."""
        before = _batches(checkpoint)
        watch.until(lambda: _batches(checkpoint) >= before + 2, "two batches")
        struck = faults.strike(fault, _batches(checkpoint))
        self.console.print(Text.assemble("  ", (struck.name, "red"), f": {plain(struck.evidence)}"))
        watch.until(lambda: _batches(checkpoint) > struck.batches, "the next batch")
        struck = struck.recovered(time.time())
        self.console.print(f"  next batch committed after {struck.recovered_s:.1f} s")
        self.faults.append(struck)

    def _summary(self, pipeline: Pipeline, verdict: Verdict, output: Output) -> None:
        self.console.rule(Text("summary", "bold"), align="left")
        for conservation in verdict.conservation:
            self._tell("records", str(conservation))
        for query in pipeline.flows:
            found = [
                identity for identity, _ in output.rows if identity[0] == json.dumps(query.name)
            ]
            windows = len({identity[1:3] for identity in found})
            late = sum(identity[3] == json.dumps("late") for identity in found)
            self._tell("windows", f"{query.name}: {windows:,}, and {late:,} late revisions")
        self._tell("dead letters", f"{verdict.dead.found:,}")
        for fault in self.faults:
            text = f"{fault.evidence}; next batch after {fault.recovered_s:.1f} s"
            self._tell("fault", f"{fault.name}: {text}")
        mark = ("proved", "bold green") if verdict.ok else ("DIFFERS", "bold red")
        self._tell("verdict", Text.assemble(mark, f": {verdict.lines()[-1]}"))
        if not verdict.ok:
            self.console.print(plain("\n".join(verdict.lines())), soft_wrap=True)

    def _places(self, pipeline: Pipeline, endpoints: Endpoints, table: Path, picture: Path) -> None:
        page = f"{outside.airflow_url(endpoints)}/dags/{pipeline.name}"
        self._tell("Airflow", page)
        self._tell("login", outside.login(endpoints))
        if endpoints.yarn_ui:
            self._tell("YARN", shown(endpoints.yarn_ui))
        else:
            self._tell("Spark", outside.spark_ui(endpoints))
        self._tell("tables", outside.path(table))
        self._tell("page", f"{page}/plugin/pipeline")
        self._tell("Data Docs", f"{page}/plugin/data-docs")
        self._tell("plot", outside.path(picture))
        for title, took in self.steps:
            self._tell("time", f"{took:6.1f} s  {title}")
        self._tell("time", f"{sum(took for _, took in self.steps):6.1f} s  in all")

    def _tell(self, label: str, text: str | Text) -> None:
        shown = text if isinstance(text, Text) else plain(text)
        self.console.print(Text.assemble(f"{label:<13} ", shown), soft_wrap=True)


class _DagWatch:
    """Waits for conditions during a DAG run, and reports its tasks as they end."""

    def __init__(self, airflow: AirflowApi, dag: str, run_id: str, console: Console) -> None:
        self._airflow, self._dag, self._run_id, self._console = airflow, dag, run_id, console
        self._states: dict[str, str] = {}
        self._began = time.monotonic()

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition.

        Raises:
            InfraError: a task fails first, or it takes too long.
        """
        deadline = time.monotonic() + _COMMIT_S
        asked = 0.0
        while not condition():
            if time.monotonic() - asked > 2:
                asked = time.monotonic()
                self._tell()
            if time.monotonic() > deadline:
                text = f"waited {_COMMIT_S:.0f} s in vain for {what}; see `slackwater status`"
                raise InfraError(text)
            time.sleep(0.1)

    def until_done(self, task: str) -> None:
        """Wait until a task of the DAG run has succeeded.

        Raises:
            InfraError: a task fails, or it takes too long.
        """
        self._tell_until(lambda: self._states.get(task) == "success")

    def _tell_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _RUN_S
        while not condition():
            if time.monotonic() > deadline:
                text = f"DAG run {self._run_id} is not through after {_RUN_S:.0f} s"
                raise InfraError(text)
            time.sleep(1)
            self._tell()

    def _tell(self) -> None:
        tasks = self._airflow.tasks(self._dag, self._run_id)
        for task, state in tasks.items():
            if self._states.get(task) != state and state in ("success", "failed", "deferred"):
                self._console.print(f"  {time.monotonic() - self._began:6.1f} s  {task}: {state}")
            self._states[task] = state
        # The DAG run's own state is no help: it runs as long as the job.
        if failed := [task for task, its in tasks.items() if its == "failed"]:
            log = self._airflow.log(self._dag, self._run_id, failed[0])
            text = f"the DAG run failed in {', '.join(failed)}:\n{log[-2000:]}"
            raise InfraError(text)


def _batches(checkpoint: Path) -> int:
    return runs.committed_offsets(checkpoint)[0]
