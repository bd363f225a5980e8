"""Faults of a deployment by Airflow: the task's process is killed, or the whole scheduler.

Each redeploys the job's own run while the job is stopped, so that a submission is in progress when
the fault is injected. The danger is a twin: the killed task's submission continues, and its retry
submits another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

import psutil

from chaos.control.node_control import await_that
from chaos.errors import FaultDidNotApply
from chaos.faults.cluster import processes
from chaos.faults.fault import DeployableJob, DeploymentOutcome, FaultContext
from chaos.faults.kind import Suggestion, fault
from infra.airflow_api import AirflowApi
from infra.errors import InfraError
from infra.process import ProcessId, descendants, identify, is_alive
from windowing.model import Pipeline

_SCHEDULER: Final = "airflow-scheduler"
_SUBMIT: Final = "submit"
_BEGUN_S: Final = 120.0
_THROUGH_S: Final = 300.0
_MOMENT_S: Final = 4.0
"""A submission is killed within this many seconds of its start: before its request reaches the
master, in transit, or while the task waits for the driver."""

_TRIES: Final = 5
"""How many submissions may complete before the drawn moment until the fault gives up."""


@dataclass
class _WhileDeploying:
    """The common part of both faults: deploy, kill, await the deployment's end, count drivers."""

    hold_s: float = 0.0
    _name: str = field(default="", init=False)
    _most: int = field(default=0, init=False)

    def inject(self, context: FaultContext) -> str:
        """Stop the job, redeploy its run, and kill a process while the task submits it.

        Raises:
            FaultDidNotApply: every submission completed before the drawn moment.
        """
        moment_s = context.rng.uniform(0, _MOMENT_S)
        for _ in range(_TRIES):
            task = self._deploy(context)
            if not _ends_within(task, moment_s):
                said = self._strike(context, task)
                return f"{said}, {moment_s:.1f} s after deployment {self._name} had begun to submit"
            self._see_through(context)
            moment_s /= 2  # this machine is fast: try earlier
        msg = f"{_TRIES} deployments had submitted, the last within {moment_s * 2:.1f} s"
        raise FaultDidNotApply(msg)

    def _deploy(self, context: FaultContext) -> ProcessId:
        """Redeploy the job's run; return the process of the task that submits it."""
        wanted = _wanted(context)
        self._name = f"{wanted.run}-{context.rng.getrandbits(32):08x}"
        with AirflowApi(context.endpoints) as api:
            api.unpause(wanted.pipeline)
            context.stop_job()
            conf = {"run": wanted.run, "max_offsets": wanted.max_offsets}
            api.trigger(wanted.pipeline, self._name, conf)
        return _task_process(context)

    def heal(self, context: FaultContext) -> str:
        """Wait until the deployment has submitted after all, counting drivers meanwhile.

        The check judges the outcome: the fault took effect even if the deployment fails.
        """
        if not self._name:
            return "nothing was deployed"
        self._restore(context)
        submit, left = self._see_through(context)
        context.deployments.append(DeploymentOutcome(submit, self._most, left))
        return f"submit is {submit}, drivers: {len(left)}, at most {self._most} at once"

    def _see_through(self, context: FaultContext) -> tuple[str, tuple[str, ...]]:
        """Wait for the end of `submit`; return its state and the jobs of the remaining drivers."""
        api, wanted = AirflowApi(context.endpoints), _wanted(context)

        def submit() -> str:
            return api.tasks(wanted.pipeline, self._name).get(_SUBMIT, "none")

        def through() -> bool:
            self._most = max(self._most, len(processes("driver", context.nodes)))
            return _asked(submit) in ("success", "failed", "upstream_failed")

        await_that(through, _THROUGH_S)
        state = submit()
        left = tuple(one.job for one in processes("driver", context.nodes))
        # Otherwise it would monitor the job, and redeploy it after later faults.
        api.let_go(wanted.pipeline, self._name)
        return state, left

    def _strike(self, context: FaultContext, task: ProcessId) -> str:
        raise NotImplementedError

    def _restore(self, context: FaultContext) -> None:
        """Restart whatever does not restart by itself."""


def _runs_on(pipeline: Pipeline) -> bool:
    return pipeline.schedule == "continuous"


@fault(
    "kill_airflow_task",
    stacks=("local",),
    back_s=95,
    ends="cure",
    deploys=True,
    suggestion=Suggestion(12, "the retry finds the job", to=_runs_on, aside=True),
)
@dataclass
class KillAirflowTask(_WhileDeploying):
    """SIGKILL of the task process that submits; the command that it called continues."""

    def _strike(self, context: FaultContext, task: ProcessId) -> str:
        return f"the task that submits, {context.nodes.kill(task)}"


@fault("kill_airflow_scheduler", back_s=93, ends="cure", deploys=True, stacks=("local",))
@dataclass
class KillAirflowScheduler(_WhileDeploying):
    """SIGKILL of the scheduler, which is restarted; its workers and the task lose their parent."""

    def _strike(self, context: FaultContext, task: ProcessId) -> str:
        return f"the scheduler, {context.nodes.kill(context.nodes.daemon(_SCHEDULER))}"

    def _restore(self, context: FaultContext) -> None:
        context.restart("airflow")


def _wanted(context: FaultContext) -> DeployableJob:
    if context.deployable is None:
        msg = "no Airflow runs here that could deploy the job"
        raise FaultDidNotApply(msg)
    return context.deployable


def _task_process(context: FaultContext) -> ProcessId:
    """Wait for the process of the task that calls `slackwater submit`.

    Raises:
        FaultDidNotApply: no task does so in time.
    """
    found: list[ProcessId] = []

    def begun() -> bool:
        found.extend(_submitting(context.nodes.daemon(_SCHEDULER)))
        return bool(found)

    if not await_that(begun, _BEGUN_S):
        msg = f"no task has begun to submit within {_BEGUN_S:.0f} s"
        raise FaultDidNotApply(msg)
    return found[0]


def _ends_within(task: ProcessId, bound_s: float) -> bool:
    return await_that(lambda: not is_alive(task), bound_s)


def _submitting(scheduler: ProcessId) -> Iterator[ProcessId]:
    """Find the parents of the `slackwater submit` processes below the scheduler."""
    for process in descendants([scheduler]):
        try:
            live = psutil.Process(process.pid)
            words, parent = live.cmdline(), identify(live.ppid())
            if any(word.endswith("/slackwater") for word in words) and _SUBMIT in words and parent:
                yield parent
        except psutil.NoSuchProcess:  # it has ended in the meantime
            continue


def _asked(question: Callable[[], str]) -> str:
    """Return Airflow's answer, or why there is none: it may still be starting."""
    try:
        return question()
    except InfraError as error:
        return str(error)
