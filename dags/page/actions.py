"""What the page's buttons do: each starts a DAG run, which Airflow shows like any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from airflow.api.common.trigger_dag import trigger_dag
from airflow.utils.types import DagRunTriggeredByType
from fastapi import Request

from dags.operators.action import DEPLOY, HANDOVER, STOP

Conf = dict[str, str]


@dataclass(frozen=True)
class Action:
    """A button.

    Attributes:
        name: its value in the form.
        label: what stands on it.
        tells: what it does, in a sentence.
        names_run: whether it needs the name of a run, and of which: `this` or `new`.
        conf: the parameters of the DAG run, given the run's name.
    """

    name: str
    label: str
    tells: str
    names_run: str | None
    conf: Callable[[str], Conf]


ACTIONS: Final = (
    Action(
        DEPLOY,
        "Deploy",
        "Starts the job with the file as it is, or continues with the running one.",
        None,
        lambda _: {"action": DEPLOY},
    ),
    Action(
        STOP,
        "Stop",
        "Stops the live run's job. Its checkpoint stays.",
        None,
        lambda _: {"action": STOP},
    ),
    Action(
        "resume",
        "Resume",
        "Starts the job of this run from its checkpoint.",
        "this",
        lambda run: {"action": DEPLOY, "run": run},
    ),
    Action(
        "shadow",
        "Shadow",
        "Runs the changed file beside the live run, as a new run of this name.",
        "new",
        lambda run: {"action": DEPLOY, "run": run, "on_change": "beside"},
    ),
    Action(
        HANDOVER,
        "Hand over",
        "Compares this run with the live one, and makes it the live one if they agree.",
        "this",
        lambda run: {"action": HANDOVER, "run": run},
    ),
)

ACTION: Final = {action.name: action for action in ACTIONS}


def start(dag_id: str, action: Action, run: str, user: str) -> str:
    """Trigger a DAG run for an action; return its id.

    Args:
        dag_id: the pipeline's DAG.
        action: what to do.
        run: the name of the run that it needs, or empty.
        user: who asked for it; shown in Airflow.

    Raises:
        DagNotFound: there is no such DAG.
        ValueError: the DAG allows no such run, or its parameters do not take the name.
    """
    started = trigger_dag(
        dag_id,
        triggered_by=DagRunTriggeredByType.REST_API,
        triggering_user_name=user,
        conf=action.conf(run),
    )
    if started is None:
        msg = f"Airflow has not started a run of {dag_id}"
        raise ValueError(msg)
    return str(started.run_id)


def comes_from_here(request: Request) -> bool:
    """Whether a form was sent by a page of this site, and not by another one for its visitor.

    Browsers say so themselves, and no page can make them say otherwise (Fetch Metadata, and
    `Origin`). A program, which has neither, must send its token as a header: a browser adds only
    cookies by itself.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin")
    if origin is not None:
        return origin.partition("://")[2] == request.headers.get("host")
    return request.headers.get("authorization", "").lower().startswith("bearer ")
