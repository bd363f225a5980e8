"""Faults of a deployment by Airflow: its task process dies, or the whole scheduler does.

Each deploys the job's own run again while the job stands, so that a submission is on its way when
it strikes. The danger is a twin: a submission that goes on behind the killed task, and another one
by its retry.
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
"""Within so many seconds of its begin a submission is struck: before it has reached the master,
while it is on its way, or while the task waits for the driver."""

_TRIES: Final = 5
"""So many times a submission may be through before its moment has come."""


@dataclass
class _WhileDeploying:
    """What both faults do: deploy, strike, see the deployment through, count the drivers."""

    hold_s: float = 0.0
    _name: str = field(default="", init=False)
    _most: int = field(default=0, init=False)

    def inject(self, context: FaultContext) -> str:
        """Stop the job, deploy its run again, and strike while the task submits it.

        Raises:
            FaultDidNotApply: every submission was through before its moment had come.
        """
        moment_s = context.rng.uniform(0, _MOMENT_S)
        for _ in range(_TRIES):
            task = self._deploy(context)
            if not _ends_within(task, moment_s):
                said = self._strike(context, task)
                return f"{said}, {moment_s:.1f} s after deployment {self._name} had begun to submit"
            self._see_through(context)
            moment_s /= 2  # so fast a machine is struck earlier
        msg = f"{_TRIES} deployments had submitted, the last within {moment_s * 2:.1f} s"
        raise FaultDidNotApply(msg)

    def _deploy(self, context: FaultContext) -> ProcessId:
        """Deploy the job's run again; gives the process of the task that submits it."""
        api, wanted = AirflowApi(context.endpoints), _wanted(context)
        self._name = f"{wanted.run}-{context.rng.getrandbits(32):08x}"
        api.unpause(wanted.pipeline)
        context.stop_job()
        conf = {"run": wanted.run, "max_offsets": wanted.max_offsets}
        api.trigger(wanted.pipeline, self._name, conf)
        return _task_process(context)

    def heal(self, context: FaultContext) -> str:
        """See the deployment submit after all, and count the drivers all the while.

        What came of it is for the check: a deployment that fails has been struck all the same.
        """
        if not self._name:
            return "nothing was deployed"
        self._restore(context)
        submit, left = self._see_through(context)
        context.deployments.append(DeploymentOutcome(submit, self._most, left))
        return f"submit is {submit}, drivers: {len(left)}, at most {self._most} at once"

    def _see_through(self, context: FaultContext) -> tuple[str, tuple[str, ...]]:
        """Await the end of `submit`; gives its state and the jobs of the drivers that are left."""
        api, wanted = AirflowApi(context.endpoints), _wanted(context)

        def submit() -> str:
            return api.tasks(wanted.pipeline, self._name).get(_SUBMIT, "none")

        def through() -> bool:
            self._most = max(self._most, len(processes("driver", context.nodes)))
            return _asked(submit) in ("success", "failed", "upstream_failed")

        await_that(through, _THROUGH_S)
        state = submit()
        left = tuple(one.job for one in processes("driver", context.nodes))
        # It would watch the job, and deploy it again after faults that are to come.
        api.let_go(wanted.pipeline, self._name)
        return state, left

    def _strike(self, context: FaultContext, task: ProcessId) -> str:
        raise NotImplementedError

    def _restore(self, context: FaultContext) -> None:
        """Start again what does not start by itself."""


def _runs_on(pipeline: Pipeline) -> bool:
    """Whether the pipeline's job runs until it is stopped."""
    return pipeline.schedule == "continuous"


@fault(
    "kill_airflow_task",
    back_s=95,
    ends="cure",
    deploys=True,
    suggestion=Suggestion(12, "the retry finds the job", to=_runs_on, aside=True),
)
@dataclass
class KillAirflowTask(_WhileDeploying):
    """SIGKILL the process of the task that submits; what it has called goes on without it."""

    def _strike(self, context: FaultContext, task: ProcessId) -> str:
        return f"the task that submits, {context.nodes.kill(task)}"


@fault("kill_airflow_scheduler", back_s=93, ends="cure", deploys=True)
@dataclass
class KillAirflowScheduler(_WhileDeploying):
    """SIGKILL the scheduler; its workers and the task lose their parent, and it comes back."""

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
    """The process of the task that calls `slackwater submit`.

    Raises:
        FaultDidNotApply: none does so in time.
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
    """The parents of what calls `slackwater submit` below the scheduler."""
    for process in descendants([scheduler]):
        try:
            live = psutil.Process(process.pid)
            words, parent = live.cmdline(), identify(live.ppid())
            if any(word.endswith("/slackwater") for word in words) and _SUBMIT in words and parent:
                yield parent
        except psutil.NoSuchProcess:  # ended meanwhile
            continue


def _asked(question: Callable[[], str]) -> str:
    """An answer of Airflow, or why there is none: it may be on its way up."""
    try:
        return question()
    except InfraError as error:
        return str(error)
