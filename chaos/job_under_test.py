"""A user's own job on a stack, fed with their own log, put through faults, and verified.

It does what a plan does, step by step, for tests (`chaos.pytest_plugin`) or other programs. The
report is that of `slackwater chaos run`, for a plan that grows with each fault.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from chaos.control.node_control import LocalNodeControl
from chaos.errors import FaultDidNotApply
from chaos.faults import FAULTS
from chaos.history import History
from chaos.plan import CheckName, Expected, Plan, PlannedFault, Recovery, least_after
from chaos.reports.pages import claim
from chaos.reports.report import write_report
from chaos.run.commit_watcher import JobFailed
from chaos.run.fault_run import FaultRun
from chaos.run.job_handle import JobHandle
from chaos.run.judgement import judge
from chaos.run.runner import RunReport, commit_here
from chaos.run.stack_under_test import StackUnderTest
from chaos.verdict.catalogue import all_checks
from chaos.verdict.check import Check, Outcome
from chaos.verdict.verify import Verdict
from chaos.workload.feed import cut, in_its_lanes
from chaos.workload.kinds import Workload
from chaos.workload.origin import Origin
from chaos.workload.own_pipeline import own_pipeline
from infra import stack
from infra.layout import Layout
from windowing.model import load_pipeline

_GIVE_UP_US: Final = 300_000_000


def striking() -> tuple[str, ...]:
    """Return the names of the faults that need nothing but a running job."""
    return tuple(
        name
        for name, kind in FAULTS.items()
        if kind.ends != "run"
        and not (kind.proxied or kind.reserve or kind.deploys)
        and "local" in kind.stacks
    )


class JobUnderTestError(RuntimeError):
    """A fault that cannot be injected into this job."""

    exit_code = 1


class JobUnderTest:
    """One run of a pipeline on a stack, with its own topics and tables.

    Args:
        events: its log: EVENTS.jsonl as `slackwater run` takes it, whose offsets are replaced by
            the broker's; or one value per line. Late records must be late in the file's order.
        layout: layout of a running stack with Kafka and Spark.
        report: a folder for the report, either new or already used for reports.
        max_offsets: offsets per batch; small enough that the job outlives the faults.
        checks: the checks at the end; None: all of them.

    Raises:
        PipelineError: the pipeline file breaks a rule.
        EventsFileError: the events are not a log of this pipeline.
        ReportFolderError: the folder holds something else.
    """

    def __init__(
        self,
        file: Path,
        events: Path,
        layout: Layout,
        report: Path,
        *,
        max_offsets: int,
        seed: int = 1,
        name: str = "under-test",
        command: str = "",
        checks: Sequence[CheckName] | None = None,
    ) -> None:
        self._began_s = time.time()
        self._seed, self._command, self._folder = seed, command, report
        claim(report)
        workload = Workload(events=str(events), max_offsets=max_offsets)
        users = load_pipeline(file)
        records = Origin(workload, users, Path(), seed, str).records()
        run = f"under-test-{datetime.fromtimestamp(self._began_s, UTC):%Y%m%d-%H%M%S-%f}"
        self.pipeline = own_pipeline(file, run, topic=run)
        endpoints = stack.endpoints(layout=layout, only=["kafka", "spark"])
        under_test = StackUnderTest(
            look=lambda: endpoints,
            seen=endpoints,
            nodes=LocalNodeControl(layout),
            restart=lambda component: _restart(component, layout),
        )
        # Each fault that is injected is added to the plan.
        plan = Plan.model_construct(
            name=name,
            pipeline=str(file),
            workload=workload,
            faults=(),
            jitter_us=0,
            checks=all_checks() if checks is None else tuple(checks),
            recovery=Recovery(within="300 s"),
            give_up_us=_GIVE_UP_US,
        )
        (report / "history.jsonl").unlink(missing_ok=True)
        history = History(path=report / "history.jsonl")
        commit = commit_here()
        history.note(0.0, "start", plan=name, seed=seed, commit=commit, run=run)
        self._fault_run = FaultRun(
            plan,
            JobHandle(self.pipeline, file, endpoints, run, max_offsets),
            under_test,
            history,
            self._began_s,
            random.Random(seed),
            lambda news: None,
            in_its_lanes(cut(records, self.pipeline), users, self.pipeline),
        )

    def begin(self) -> None:
        """Send the log and submit the job.

        Raises:
            BrokerError: no broker answers.
        """
        self._fault_run.begin()

    def strike(
        self, fault: str, *, hold_s: float | None = None, expect: Expected | None = None
    ) -> float:
        """Inject a fault after the next batch, and wait for a batch begun and committed after it.

        Args:
            fault: its name, as in plans.
            hold_s: its duration in seconds, if it needs healing.
            expect: the expected outcome of an identity fault.

        Returns:
            seconds from the end of the fault (from its start, if the system recovers by itself) to
            the commit of that batch.

        Raises:
            JobUnderTestError: this fault needs a plan.
            FaultDidNotApply: the fault had no effect and so would prove nothing.
            JobFailed: the job gave up or made no progress; the report says why.
        """
        fault_run, number = self._fault_run, len(self._fault_run.plan.faults)
        step = _step(fault, hold_s, expect)
        fault_run.plan = fault_run.plan.model_copy(
            update={"faults": (*fault_run.plan.faults, step)}
        )
        try:
            came_back = fault_run.strike(number, step)
        except JobFailed as error:
            self._give_up(f"the job failed: {error}")
            raise
        for entry in fault_run.history.of("no_effect", "unsupported"):
            if entry["fault"] == number:
                raise FaultDidNotApply(entry["why"])
        if not came_back:
            self._give_up("broken off")
            msg = f"the job has committed nothing for {_GIVE_UP_US / 1e6:.0f} s"
            raise JobFailed(msg)
        recovered = (e for e in fault_run.history.of("recovered") if e["fault"] == number)
        return float(next(recovered)["seconds"])

    def finish(self) -> Verdict:
        """Send the ends, wait until all is committed, stop the job, and write the report.

        Returns:
            the comparison with the definition; the other checks are in the report.

        Raises:
            JobFailed: the job gave up, or made no progress.
        """
        try:
            state = self._fault_run.bring_to_end()
        except JobFailed as error:
            self._give_up(f"the job failed: {error}")
            raise
        if state != "done":
            self._give_up(state)
            raise JobFailed(state)
        self._fault_run.close(state)
        fault_run = self._fault_run
        endpoints = fault_run.stack.look()
        judged = judge(fault_run, endpoints.kafka_bootstrap)
        self._write(judged.checks)
        if judged.verdict is None:
            msg = f"the job has written nothing that could be compared: {self.report}"
            raise JobFailed(msg)
        return judged.verdict

    @property
    def report(self) -> Path:
        """The path of the report page, which need not exist yet."""
        return self._folder / "report.html"

    def stop(self) -> None:
        """Stop the job, and keep what it wrote."""
        self._fault_run.job.stop()

    def _give_up(self, state: str) -> None:
        fault_run = self._fault_run
        fault_run.close(state)
        bootstrap = fault_run.stack.look().kafka_bootstrap
        judged = judge(fault_run, bootstrap)
        failed = Check("deterministic", Outcome.failed, f"the run was given up: {state}")
        self._write((*judged.checks, failed))

    def _write(self, found: Sequence[Check]) -> None:
        began = datetime.fromtimestamp(self._began_s, UTC).isoformat(timespec="seconds")
        plan, history = self._fault_run.plan, self._fault_run.history
        report = RunReport(
            plan, self._seed, self._command, commit_here(), began, history, tuple(found)
        )
        write_report(report, self._folder)


def _step(fault: str, hold_s: float | None, expect: Expected | None) -> PlannedFault:
    if fault not in (usable := striking()):
        msg = f"{fault} cannot strike a job outside a plan: use {', '.join(usable)}"
        raise JobUnderTestError(msg)
    given: dict[str, object] = {"fault": fault, "after": least_after(fault), "expect": expect}
    if hold_s is not None:
        given["hold"] = f"{round(hold_s * 1e6)} us"
    try:
        return PlannedFault.model_validate(given)
    except ValidationError as error:
        msg = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise JobUnderTestError(msg) from None


def _restart(component: str, layout: Layout) -> None:
    stack.up(only=[component], layout=layout)
