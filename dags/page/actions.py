"""What the page's buttons do: each starts a DAG run, which Airflow shows like any other."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from airflow.api.common.trigger_dag import trigger_dag
from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.models.log import Log
from airflow.utils.session import create_session
from airflow.utils.types import DagRunTriggeredByType
from fastapi import Request
from sqlalchemy import select

from dags.entities import DEPLOY, HANDOVER, NIGHTLY, REPLAY, STOP, VERIFY, dag_of
from dags.operators.choose_run import OnChange
from dags.page.answers import NAME


@dataclass(frozen=True)
class Blank:
    """A field of a form.

    Attributes:
        choices: `runs`, `plans`, or empty: free text.
        pattern: what it must look like.
        needed: whether it may not be left empty.
    """

    name: str
    label: str
    choices: str = ""
    pattern: re.Pattern[str] = NAME
    needed: bool = True


@dataclass(frozen=True)
class Action:
    """A button.

    Attributes:
        name: its value in the form.
        label: what stands on it.
        tells: what it does, in a sentence.
        dag: which of the pipeline's DAGs it starts a run of; `CHAOS`: that of chaos plans.
        conf: the parameters of the DAG run.
        blanks: the fields that add to them.
        asks: what somebody is asked who has pressed it, before it acts; empty: nothing.
    """

    name: str
    label: str
    tells: str
    dag: str
    conf: Mapping[str, str] = field(default_factory=dict)
    blanks: tuple[Blank, ...] = ()
    asks: str = ""

    @property
    def chaos(self) -> bool:
        """Whether it is about a stack of its own, and not about what the page shows."""
        return self.dag == CHAOS

    def dag_of(self, pipeline: str) -> str:
        """Return the DAG of which it starts a run."""
        return NIGHTLY if self.chaos else dag_of(pipeline, self.dag)

    def filled(self, form: Mapping[str, str]) -> dict[str, str]:
        """Return the parameters of the DAG run that a form asks for.

        Raises:
            ValueError: a field is missing, or cannot be what it stands for.
        """
        conf = dict(self.conf)
        for blank in self.blanks:
            value = form.get(blank.name, "").strip()
            if value and not blank.pattern.fullmatch(value):
                msg = f"{self.label}: {blank.label} cannot be {value!r}"
                raise ValueError(msg)
            if blank.needed and not value:
                msg = f"{self.label}: {blank.label} is missing"
                raise ValueError(msg)
            if value:
                conf[blank.name] = value
        return conf


_PLACE: Final = re.compile(r'[0-9TZ:.+-]{4,40}|\{[0-9:,"\s]{0,2000}\}')
CHAOS: Final = "chaos"

_RUN, _NEW_RUN = Blank("run", "run", "runs"), Blank("run", "name of the new run")

ACTIONS: Final = (
    Action(
        DEPLOY,
        "Deploy",
        "Starts the job with the file as it is, or continues with the running one.",
        DEPLOY,
    ),
    Action(
        STOP,
        "Stop",
        "Stops the live run's job. Its checkpoint stays.",
        STOP,
        asks="No row is written until it is resumed. Stop it?",
    ),
    Action(
        "resume",
        "Resume",
        "Starts the job of this run from its checkpoint.",
        DEPLOY,
        blanks=(_RUN,),
    ),
    Action(
        "shadow",
        "Shadow",
        "Runs the changed file beside the live run, as a new run of this name.",
        DEPLOY,
        {"on_change": OnChange.beside.value},
        (_NEW_RUN,),
    ),
    Action(
        HANDOVER,
        "Hand over",
        "Compares this run with the live one, and makes it the live one if they agree.",
        HANDOVER,
        blanks=(_RUN,),
        asks="The job of the run that is live now is stopped then. Hand over?",
    ),
    Action(
        VERIFY,
        "Verify",
        "Compares all rows of this run with the definition, and accounts for every record.",
        VERIFY,
        blanks=(_RUN,),
    ),
    Action(
        REPLAY,
        "Replay",
        'Runs a range of the log again, batched differently. Offsets as {"0": 100}, or a time.',
        REPLAY,
        blanks=(
            _RUN,
            Blank("replay_from", "from", pattern=_PLACE, needed=False),
            Blank("replay_to", "to", pattern=_PLACE, needed=False),
        ),
    ),
    Action(
        CHAOS,
        "Run a chaos plan",
        "Breaks a job on a stack of its own as the plan says, and proves its answer.",
        CHAOS,
        blanks=(Blank("plan", "plan", "plans"),),
        asks="It takes minutes, and much of this machine. Run it?",
    ),
)

EVENT: Final = "pipeline_"
"""With the action's name behind it, the event in Airflow's audit log."""

ACTION: Final = {action.name: action for action in ACTIONS}


@dataclass(frozen=True)
class StartedRun:
    """A DAG run that was triggered.

    Attributes:
        dag_id, run_id: its names.
        waits: whether its DAG is paused, so that it does not begin.
    """

    dag_id: str
    run_id: str
    waits: bool


def start(action: Action, pipeline: str, conf: Mapping[str, Any], user: str) -> str:
    """Trigger the DAG run of an action, and note it in Airflow's audit log: both or neither.

    Returns:
        the DAG run's id.

    Args:
        user: who asked for it; shown in Airflow.

    Raises:
        DagNotFound: there is no such DAG.
        ValueError: the DAG allows no such run, or does not take the parameters.
    """
    dag_id = action.dag_of(pipeline)
    with create_session() as session:
        run = trigger_dag(
            dag_id,
            triggered_by=DagRunTriggeredByType.REST_API,
            triggering_user_name=user,
            conf=dict(conf),
            session=session,
        )
        if run is None:
            msg = f"Airflow has not started a run of {dag_id}"
            raise ValueError(msg)
        run_id = str(run.run_id)
        session.add(_entry(action, pipeline, user, {"conf": dict(conf)}, run_id))
    return run_id


def refuse(action: Action, pipeline: str, why: str, user: str) -> None:
    """Note in Airflow's audit log that somebody asked for an action, and why there is none."""
    with create_session() as session:
        session.add(_entry(action, pipeline, user, {"refused": why}))


def _entry(
    action: Action, pipeline: str, user: str, more: Mapping[str, Any], run_id: str | None = None
) -> Log:
    return Log(
        event=f"{EVENT}{action.name}",
        owner=user,
        owner_display_name=user,
        extra=json.dumps({"pipeline": pipeline, **more}),
        dag_id=action.dag_of(pipeline),
        run_id=run_id,
    )


def started(action: Action, pipeline: str, run_id: str) -> StartedRun | None:
    """Return a DAG run that an action has started; None: there is no such run."""
    dag_id = action.dag_of(pipeline)
    with create_session() as session:
        found = select(DagRun.id).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id)
        if session.scalar(found) is None:
            return None
        dag = DagModel.get_current(dag_id, session=session)
        return StartedRun(dag_id, run_id, waits=dag is not None and bool(dag.is_paused))


def unpause(action: Action, pipeline: str, user: str) -> None:
    """Let the DAG of an action begin its runs, and note who has: both or neither."""
    with create_session() as session:
        dag = DagModel.get_current(action.dag_of(pipeline), session=session)
        if dag is not None:
            dag.is_paused = False
        session.add(_entry(replace(action, name="unpause"), pipeline, user, {}))


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
