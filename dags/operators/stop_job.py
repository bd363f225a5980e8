"""Stops a pipeline's job: as a step, or because its task was marked failed."""

from __future__ import annotations

import asyncio
from typing import Any

from airflow.sdk import Context
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from airflow.triggers.base import BaseTrigger
from asgiref.sync import sync_to_async

from dags.operators.command import CommandError, run_quietly
from dags.operators.job import jobs_arguments, jobs_of, named
from dags.operators.request import check_file, check_parameters, check_run
from dags.operators.run_command import CommandTask

_FAILED = "failed"
_TRIES, _PAUSE_S = 3, 5.0
"""Tries of `slackwater stop`, and the pause between them: a marked task is not retried."""


def stop_arguments(file: str, run: str) -> list[str]:
    """Return the command line that stops the job of exactly one run."""
    return ["stop", file, "--run", run]


class StopJob(CommandTask):
    """Stops the live run's job, or the named run's; its checkpoint stays."""

    ui_color = "#fbe9e7"

    def __init__(self, *, file: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.file = file

    def execute(self, context: Context) -> None:
        """Call `slackwater stop`."""
        check_parameters(context, ("run",))
        run = context["params"].get("run")
        shown = check_file(context, self.file)
        if shown is not None:
            check_run(shown, self.jobs(self.file))
            if (run := run or shown.run) is None:
                self.log.info("it had never run when the page was shown: there is no job to stop")
                return
        self.call("stop", self.file, *(["--run", run] if run else []))


_ending: set[asyncio.Task[None]] = set()
"""Running stops; the event loop itself keeps no task alive."""


async def stop_if_marked_failed(trigger: BaseTrigger, file: str, run: str) -> None:
    """Stop a run's job if the task that waits for it, or its DAG run, was marked failed.

    For a trigger's `on_kill`, which is also called when the task was cleared or marked a success:
    then the job continues.

    """
    # Airflow 3.3.2 cancels a trigger once a second until it is gone, `on_kill` included.
    ending = asyncio.create_task(_stop_if_marked_failed(trigger, file, run))
    _ending.add(ending)
    ending.add_done_callback(_ending.discard)
    await asyncio.shield(ending)


async def _stop_if_marked_failed(trigger: BaseTrigger, file: str, run: str) -> None:
    task = trigger.task_instance
    states = await sync_to_async(RuntimeTaskInstance.get_task_states)(
        dag_id=task.dag_id, task_ids=[task.task_id], run_ids=[task.run_id]
    )
    state = states.get(task.run_id, {}).get(task.task_id)
    if state != _FAILED:
        trigger.log.info("the task is now %s: run %s goes on", state or "to run again", run)
        return
    for left in reversed(range(_TRIES)):
        try:
            await _stop(trigger, file, run)
        except CommandError as error:
            trigger.log.error("run %s is not stopped: %s; tried %d times more", run, error, left)
            await asyncio.sleep(_PAUSE_S)
        else:
            return


async def _stop(trigger: BaseTrigger, file: str, run: str) -> None:
    job = named(jobs_of(await run_quietly(jobs_arguments(file))), run)
    if job is None or job.ended:
        trigger.log.info("marked failed: %s", job or f"there is no run {run}")
        return
    await run_quietly(stop_arguments(file, run))
    trigger.log.info("marked failed: the job of run %s is ended; its checkpoint stays", run)
