"""What can be asked of a pipeline besides its deployment: a DAG with one task for each.

DAGs of their own, so that a DAG run shows what was done and nothing that was not, an action does
not wait for an increment that runs, and who may verify need not be one who may stop.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG, BaseOperator, Param
from airflow.utils.types import DagRunType

from dags.entities import ACTIONS, HANDOVER, REPLAY, STOP, VERIFY, Deployment, dag_of
from dags.operators.alerts import alerts
from dags.operators.run_command import CheckRun, HandOver
from dags.operators.stop_job import StopJob

ALL_BUT_BACKFILL = tuple(kind for kind in DagRunType if kind is not DagRunType.BACKFILL_JOB)
"""An increment is what is new on the topic, so past intervals have none: `dags/adr/0002`."""

PLACE_MAX = 2_100
"""Maximum characters of a place on the log: offsets of a hundred lanes."""

RETRY_DELAY = timedelta(seconds=10)

_RANGE = {"replay_from": "--from", "replay_to": "--to"}

_TELLS = {
    STOP: "Stops the job of {}; its checkpoint stays",
    HANDOVER: "Makes a run of {} the live one, if it agrees with the one that is",
    VERIFY: "Compares the rows of a run of {} with the definition",
    REPLAY: "Runs a range of the log of {} again, batched differently, and compares",
}


def render_actions(deployment: Deployment) -> Iterator[DAG]:
    """Create the DAGs of a pipeline's actions; the same deployment always gives the same DAGs."""
    for action in ACTIONS:
        with DAG(
            auto_register=False,
            dag_id=dag_of(deployment.name, action),
            schedule=None,
            start_date=datetime(2020, 1, 1, tzinfo=UTC),
            catchup=False,
            max_active_runs=1,
            # A run exists only because somebody has asked for it.
            is_paused_upon_creation=False,
            allowed_run_types=ALL_BUT_BACKFILL,
            params=_params(action),
            tags=["slackwater", "action"],
            description=_TELLS[action].format(deployment.name),
            default_args={
                "owner": "slackwater",
                "retry_delay": RETRY_DELAY,
                "on_failure_callback": alerts(),
            },
        ) as dag:
            _task(action, deployment.file)
        yield dag


def _task(action: str, file: str) -> BaseOperator:
    if action == STOP:
        return StopJob(task_id=action, file=file, retries=2)
    if action == HANDOVER:
        return HandOver(task_id=action, file=file, retries=0)
    options = {"run": "--run", **(_RANGE if action == REPLAY else {})}
    return CheckRun(task_id=action, verb=action, file=file, options=options, retries=0)


def _params(action: str) -> dict[str, Param]:
    if action == HANDOVER:
        return {"run": run_param("The run that takes over: it runs beside the live one.")}
    params = {"run": run_param("Name of the run. Empty: the live one, else the newest.")}
    return params | (_params_of_replay() if action == REPLAY else {})


def run_param(description: str) -> Param:
    """Return the parameter `run` of a DAG."""
    return Param(
        None,
        type=["null", "string"],
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}$",
        title="Run",
        description=description,
    )


def _params_of_replay() -> dict[str, Param]:
    places = {
        "replay_from": ("Replay from", "The first record that is replayed", "the beginning"),
        "replay_to": ("Replay to", "The first record that is left out", "the end"),
    }
    return {
        name: Param(
            None,
            type=["null", "string"],
            maxLength=PLACE_MAX,
            title=title,
            description=f'{what}: offsets per partition, as {{"0": 100}}, or an ISO time. Empty: '
            f"{default}.",
        )
        for name, (title, what, default) in places.items()
    }
