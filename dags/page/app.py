"""The application behind the page: who may see what, and who may act.

Each page requires the login of the UI and the right to read the pipeline's DAG; each action, the
right to trigger it. Files, databases and templates are not for the event loop, which all of
Airflow's pages share.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, Final
from urllib.parse import quote, urlencode

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.core_api.security import get_user
from airflow.exceptions import AirflowException
from fastapi import Depends, FastAPI, Form, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from dags.entities import Deployment, pipeline_of, plan_names
from dags.operators.command import CommandError, pipelines_folder, project_root
from dags.operators.job import jobs_arguments, jobs_of
from dags.operators.request import SHOWN, ShownState, digest_now
from dags.page.actions import (
    ACTION,
    ACTIONS,
    Action,
    StartedRun,
    comes_from_here,
    refuse,
    start,
    started,
    unpause,
)
from dags.page.answers import ALL, NAME, Answer, Answers
from dags.page.calls import Calls
from dags.page.files import PipelineFiles
from dags.page.follower import Follower
from dags.page.forms import ActionForm, Name, Text, Window
from dags.page.site import MAY_READ, Site, may, may_trigger, readable
from dags.page.views import charts_of, page, quality_of, row_of, sorted_by_light

PREFIX: Final = "/pipelines"
"""Where the pages are, on Airflow's own site."""

POLICY: Final = {
    "Content-Security-Policy": (
        "sandbox allow-same-origin allow-forms allow-scripts; "
        "default-src 'none'; style-src 'unsafe-inline'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Pages show data from topics on Airflow's own site: no script runs on them, whatever its source,
and nothing is loaded from elsewhere. The sandbox allows scripts, which `default-src` then forbids,
because without that browsers do not let a page load itself again."""

_ROWS = 50


User = Annotated[BaseUser, Depends(get_user)]

follower = Follower()
answers = Answers(follower.ask)
calls = Calls()
files = PipelineFiles()


@asynccontextmanager
async def _following(_: FastAPI) -> AsyncIterator[None]:
    """Have the process that answers as long as the server lives."""
    begun = asyncio.create_task(follower.start())
    yield
    await begun
    await follower.stop()


app = Site(title="Pipelines", policy=POLICY, lifespan=_following)


@app.get("/")
async def index(user: User, search: Annotated[Text, Query(max_length=100)] = "") -> HTMLResponse:
    """Show all pipelines that the user may see, those first that somebody has to look at."""
    answer = await answers.of(ALL)
    return HTMLResponse(await run_in_threadpool(_index, user, answer, search))


def _index(user: BaseUser, answer: Answer, search: str) -> str:
    overviews = answer.overviews or []
    visible = readable(user, [one["pipeline"] for one in overviews])
    seen = [one for one in overviews if one["pipeline"] in visible]
    chosen = [one for one in seen if search.casefold() in one["pipeline"].casefold()]
    return page(
        "index.html",
        title="Pipelines",
        answer=answer,
        overviews=sorted_by_light(chosen),
        hidden=len(seen) - len(chosen),
        search=search,
    )


@app.get("/{dag_id}/", dependencies=[MAY_READ])
async def pipeline(dag_id: str, user: User) -> Response:
    """Show how one pipeline stands, in the tabs of the DAGs beside its own, too."""
    if (name := pipeline_of(dag_id)) != dag_id:
        return RedirectResponse(f"../{quote(name)}/")
    deployment = await _deployment_of(dag_id)
    answer = await answers.of(dag_id, [deployment.file])
    return HTMLResponse(await run_in_threadpool(_pipeline, user, deployment, answer))


def _pipeline(user: BaseUser, deployment: Deployment, answer: Answer) -> str:
    one = answer.overviews[0] if answer.overviews else None
    return page(
        "pipeline.html",
        title=deployment.name,
        answer=answer,
        one=one,
        deployment=deployment,
        charts=charts_of(one) if one else [],
        quality=quality_of(one) if one else [],
        actions=[action for action in ACTIONS if may_trigger(user, action.dag_of(deployment.name))],
        plans=plan_names(project_root()),
    )


@app.get("/{dag_id}/overview.json", dependencies=[MAY_READ])
async def as_json(dag_id: str) -> JSONResponse:
    """Return the answer that the page shows."""
    answer = await answers.of(dag_id, [(await _deployment_of(dag_id)).file])
    overview = answer.overviews[0] if answer.overviews else None
    shown = {"overview": overview, "age_s": answer.age_s, "error": answer.error}
    return await run_in_threadpool(JSONResponse, shown)


@app.get("/{dag_id}/rows", dependencies=[MAY_READ])
async def rows(
    request: Request,
    dag_id: str,
    run: Annotated[Name, Query()],
    query: Annotated[Name, Query()],
) -> HTMLResponse:
    """Show the newest windows of a query, each with a way to its records."""
    deployment = await _deployment_of(dag_id)
    asked = [
        "newest",
        deployment.file,
        "--run",
        run,
        "--query",
        query,
        "--last",
        str(_ROWS),
        "--json",
    ]
    lines, error = await _lines(asked, request)

    def shown() -> str:
        key = deployment.keys.get(query, ())  # none, if the file has no such query any more
        found = [row_of(json.loads(line), run, query, key) for line in reversed(lines)]
        columns = list(found[0].cells) if found else []
        title = f"{dag_id}: {query}"
        return page("rows.html", title=title, run=run, columns=columns, rows=found, error=error)

    return HTMLResponse(await run_in_threadpool(shown))


@app.get("/{dag_id}/records", dependencies=[MAY_READ])
async def records(
    request: Request, dag_id: str, window: Annotated[Window, Query()]
) -> HTMLResponse:
    """Show the records of a window by offset, found by its rows: quick on a long log."""
    asked = window.asked((await _deployment_of(dag_id)).file)
    lines, error = await _lines([*asked, "--records", "--json"], request)

    def shown() -> str:
        found = json.loads(lines[0]) if lines else None
        title = f"{dag_id}: {window.query}"
        return page("records.html", title=title, window=window, found=found, error=error)

    return HTMLResponse(await run_in_threadpool(shown))


@app.get("/{dag_id}/why", dependencies=[MAY_READ])
async def why(request: Request, dag_id: str, window: Annotated[Window, Query()]) -> HTMLResponse:
    """Show why a window is as it is, by the definition: reads the whole log."""
    asked = window.asked((await _deployment_of(dag_id)).file)
    lines, error = await _printed(asked, request)
    title, said = f"{dag_id}: {window.query}", "\n".join(lines)
    return HTMLResponse(
        await run_in_threadpool(
            page, "why.html", title=title, window=window, said=said, error=error
        )
    )


@app.post("/{dag_id}/actions", dependencies=[MAY_READ])
async def act(
    request: Request,
    dag_id: str,
    user: User,
    form: Annotated[ActionForm, Form()],
) -> JSONResponse:
    """Start the DAG run of an action, and lead to the page that shows it.

    Who may do so is asked of the DAG that the action starts a run of. What the page showed goes
    into the DAG run, whose tasks look once more whether it still is so.

    Raises:
        HTTPException: 403, the form is not from this site, or the user may not trigger the DAG;
            404, no such action or DAG; 409, another run or file is there than the page showed;
            422, a field is missing or wrong.
    """
    if not comes_from_here(request):
        raise HTTPException(403, "this form was not sent by a page of this site")
    action = ACTION.get(form.action)
    if action is None:
        raise HTTPException(404, f"there is no action {form.action}")
    deployment = await _deployment_of(dag_id)
    dag, name = action.dag_of(deployment.name), user.get_name()
    try:
        if not await run_in_threadpool(may_trigger, user, dag):
            msg = f"{action.label}: you may look, but this starts a run of {dag}, and you have no"
            raise HTTPException(403, f"{msg} right to trigger that DAG")
        conf: dict[str, Any] = _filled(action, form)
        if form.shown is not None and not action.chaos:
            await _check(form.shown, deployment.file, request)
            conf[SHOWN] = form.shown.noted
        run_id = await run_in_threadpool(_start, action, deployment.name, conf, name)
    except HTTPException as error:
        await run_in_threadpool(refuse, action, deployment.name, str(error.detail), name)
        raise
    return _led_to_started(action.name, run_id, {"dag_id": dag, "dag_run_id": run_id})


def _led_to_started(action: str, run_id: str, answer: dict[str, Any]) -> JSONResponse:
    place = urlencode({"action": action, "dag_run": run_id})
    return JSONResponse(answer, status_code=303, headers={"Location": f"started?{place}"})


def _filled(action: Action, form: ActionForm) -> dict[str, str]:
    try:
        return action.filled(form.model_dump())
    except ValueError as error:
        raise HTTPException(422, str(error)) from None


def _start(action: Action, pipeline: str, conf: dict[str, Any], user: str) -> str:
    try:
        return start(action, pipeline, conf, user)
    except (AirflowException, ValueError) as error:
        raise HTTPException(404, str(error)) from None


async def _check(shown: ShownState, file: str, request: Request) -> None:
    """Check that the file and the live run are those that the page showed.

    Raises:
        HTTPException: 409, they are not; 503, there is no answer.
    """
    problem = shown.other_file(file, await run_in_threadpool(digest_now, file))
    if problem is None:
        try:
            jobs = jobs_of(await calls.run(jobs_arguments(file), request))
        except CommandError as error:
            msg = f"nothing was done, as it cannot be told which run is the live one: {error}"
            raise HTTPException(503, msg) from None
        problem = shown.other_run(jobs)
    if problem is not None:
        raise HTTPException(409, problem)


@app.get("/{dag_id}/started", dependencies=[MAY_READ])
def has_started(
    dag_id: str,
    user: User,
    action: Annotated[Text, Query(max_length=40)],
    dag_run: Annotated[Text, Query(max_length=250)],
) -> HTMLResponse:
    """Show what an action has started; to load this again starts nothing.

    Raises:
        HTTPException: 404, it has started no such run, or the user may not see the run's DAG.
    """
    chosen, found = _started(dag_id, user, action, dag_run)
    may_unpause = found.waits and may(user, found.dag_id, "PUT")
    text = page("started.html", title=dag_id, action=chosen, started=found, may_unpause=may_unpause)
    return HTMLResponse(text)


@app.post("/{dag_id}/unpause", dependencies=[MAY_READ])
def unpaused(
    request: Request,
    dag_id: str,
    user: User,
    action: Annotated[Text, Form(max_length=40)],
    dag_run: Annotated[Text, Form(max_length=250)],
) -> JSONResponse:
    """Let the DAG begin that has a run which an action has started, and lead back to it."""
    if not comes_from_here(request):
        raise HTTPException(403, "this form was not sent by a page of this site")
    chosen, found = _started(dag_id, user, action, dag_run)
    if not may(user, found.dag_id, "PUT"):
        raise HTTPException(403, f"you have no right to unpause the DAG {found.dag_id}")
    unpause(chosen, dag_id, user.get_name())
    return _led_to_started(action, dag_run, {"dag_id": found.dag_id, "is_paused": False})


def _started(dag_id: str, user: User, name: str, dag_run: str) -> tuple[Action, StartedRun]:
    """Return an action and the run that it has started.

    Raises:
        HTTPException: 404, it has started no such run, or the user may not see the run's DAG.
    """
    chosen = ACTION.get(name)
    if chosen is not None and may(user, chosen.dag_of(dag_id), "GET"):
        found = started(chosen, dag_id, dag_run)
        if found is not None:
            return chosen, found
    raise HTTPException(404, "no action of this page has started such a run")


async def _deployment_of(name: str) -> Deployment:
    """Return the deployment of a pipeline.

    Raises:
        HTTPException: 404, no file that can be used has a pipeline of this name.
    """
    if NAME.fullmatch(name):
        found = await run_in_threadpool(files.named, project_root(), pipelines_folder(), name)
        if found is not None:
            return found
    msg = f"no file in the folder of pipelines has the name {name}, or it cannot be used"
    raise HTTPException(404, f"{msg}: see the import errors on Airflow's page of DAGs")


async def _lines(arguments: Sequence[str], request: Request) -> tuple[list[str], str | None]:
    printed, error = await _printed(arguments, request)
    return [line for line in printed if line.startswith("{")], error


async def _printed(arguments: Sequence[str], request: Request) -> tuple[Sequence[str], str | None]:
    try:
        return (await calls.run(arguments, request)).stdout, None
    except CommandError as error:
        return (), str(error)
