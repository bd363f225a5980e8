"""The application behind the page: who may see what, and who may act.

Airflow mounts the applications of plugins without authentication. Each page here requires the login
of the UI and the right to read the pipeline's DAG; each action, the right to trigger it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.base_auth_manager import ResourceMethod
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import get_user, requires_access_dag
from airflow.exceptions import AirflowException
from fastapi import Depends, FastAPI, Form, HTTPException, Query, Request
from fastapi.exception_handlers import http_exception_handler
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as AnyHTTPException

from dags.entities import Deployment, plan_names, read_deployments
from dags.operators.command import CommandError, pipelines_folder, project_root, run_quietly
from dags.page.actions import ACTION, ACTIONS, comes_from_here, start
from dags.page.answers import ALL, NAME, Answers
from dags.page.follower import Follower
from dags.page.views import charts_of, page, quality_of, row_of, sorted_by_light
from windowing.model import parse_pipeline

PREFIX: Final = "/pipelines"
"""Where the pages are, on Airflow's own site."""

HEADERS: Final = {
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


class Asked(BaseModel):
    """A form, as it was sent.

    Attributes:
        action: the name of the action.
        run, replay_from, replay_to, plan: its fields, empty where the action has none of them.
    """

    action: str
    run: Annotated[str, Field(max_length=80)] = ""
    replay_from: Annotated[str, Field(max_length=2_100)] = ""
    replay_to: Annotated[str, Field(max_length=2_100)] = ""
    plan: Annotated[str, Field(max_length=80)] = ""


Name = Annotated[str, Field(pattern=f"^{NAME.pattern}$")]


class Window(BaseModel):
    """A window of a run, as an address names it.

    Attributes:
        run: the run.
        query: its query.
        window: its id.
        key: its key's values, in the order of the fields.
    """

    run: Name
    query: Name
    window: Annotated[str, Field(pattern=r"^-?[0-9]{1,19}$")]
    key: list[str] = []

    def asked(self, file: str) -> list[str]:
        """Return the command that asks about it."""
        window = [f"--window={self.window}", *(f"--key={value}" for value in self.key)]
        return ["why", file, "--run", self.run, "--query", self.query, *window]

    @property
    def address(self) -> str:
        """The part of an address that names it, as a query."""
        return urlencode(self.model_dump(), doseq=True)


User = Annotated[BaseUser, Depends(get_user)]
_may_read: Final = Depends(requires_access_dag("GET"))

follower = Follower()
answers = Answers(follower.ask)


@asynccontextmanager
async def _following(_: FastAPI) -> AsyncIterator[None]:
    """Have the process that answers as long as the server lives."""
    begun = asyncio.create_task(follower.start())
    yield
    await begun
    await follower.stop()


app = FastAPI(
    title="Pipelines",
    lifespan=_following,
    dependencies=[Depends(get_user)],
    docs_url=None,
    redoc_url=None,
    openapi_url=None,
)


@app.middleware("http")
async def harmless(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    """Add the headers to every response, including errors."""
    response = await answer(request)
    response.headers.update(HEADERS)
    return response


@app.exception_handler(AnyHTTPException)
async def refused(request: Request, error: AnyHTTPException) -> Response:
    """Say why there is no answer: a browser gets a page, a program JSON."""
    if "text/html" not in request.headers.get("accept", ""):
        return await http_exception_handler(request, error)
    told = page("refused.html", title="Pipelines", why=error.detail)
    return HTMLResponse(told, status_code=error.status_code, headers=error.headers)


@app.get("/")
async def index(user: User, search: Annotated[str, Query(max_length=100)] = "") -> HTMLResponse:
    """Show all pipelines that the user may see, those first that somebody has to look at."""
    answer = await answers.of(ALL)
    seen = [one for one in answer.told or () if _is_allowed(user, one["pipeline"], "GET")]
    chosen = [one for one in seen if search.casefold() in one["pipeline"].casefold()]
    return HTMLResponse(
        page(
            "index.html",
            title="Pipelines",
            answer=answer,
            told=sorted_by_light(chosen),
            hidden=len(seen) - len(chosen),
            search=search,
        )
    )


@app.get("/{dag_id}/", dependencies=[_may_read])
async def pipeline(dag_id: str, user: User) -> HTMLResponse:
    """Show how one pipeline stands."""
    file = _file_of(dag_id)
    answer = await answers.of(dag_id, [file])
    one = answer.told[0] if answer.told else None
    return HTMLResponse(
        page(
            "pipeline.html",
            title=dag_id,
            answer=answer,
            one=one,
            charts=charts_of(one) if one else [],
            quality=quality_of(one) if one else [],
            actions=[
                action
                for action in ACTIONS
                if _is_allowed(user, action.dag_of(dag_id), "POST", DagAccessEntity.RUN)
            ],
            plans=plan_names(project_root()),
        )
    )


@app.get("/{dag_id}/overview.json", dependencies=[_may_read])
async def as_json(dag_id: str) -> JSONResponse:
    """Return the answer that the page shows."""
    answer = await answers.of(dag_id, [_file_of(dag_id)])
    told = answer.told[0] if answer.told else None
    return JSONResponse({"overview": told, "age_s": answer.age_s, "error": answer.error})


@app.get("/{dag_id}/rows", dependencies=[_may_read])
async def rows(
    dag_id: str,
    run: Annotated[Name, Query()],
    query: Annotated[Name, Query()],
) -> HTMLResponse:
    """Show the newest windows of a query, each with a way to its records."""
    asked = ["newest", _file_of(dag_id), "--run", run, "--query", query, "--last", str(_ROWS)]
    found, error = await _lines(asked)
    shown = [row_of(one, run, query, _key_of(dag_id, query)) for one in reversed(found)]
    columns = list(shown[0].cells) if shown else []
    title = f"{dag_id}: {query}"
    return HTMLResponse(
        page("rows.html", title=title, run=run, columns=columns, rows=shown, error=error)
    )


@app.get("/{dag_id}/records", dependencies=[_may_read])
async def records(dag_id: str, window: Annotated[Window, Query()]) -> HTMLResponse:
    """Show the records of a window by offset, found by its rows: quick on a long log."""
    told, error = await _lines([*window.asked(_file_of(dag_id)), "--records", "--json"])
    found = told[0] if told else None
    title = f"{dag_id}: {window.query}"
    return HTMLResponse(page("records.html", title=title, window=window, found=found, error=error))


@app.get("/{dag_id}/why", dependencies=[_may_read])
async def why(dag_id: str, window: Annotated[Window, Query()]) -> HTMLResponse:
    """Show why a window is as it is, by the definition: reads the whole log."""
    said, error = await _text(window.asked(_file_of(dag_id)))
    title = f"{dag_id}: {window.query}"
    return HTMLResponse(page("why.html", title=title, window=window, said=said, error=error))


@app.post("/{dag_id}/actions", dependencies=[_may_read])
def act(
    request: Request,
    dag_id: str,
    user: User,
    form: Annotated[Asked, Form()],
) -> HTMLResponse:
    """Start the DAG run of an action.

    Who may do so is asked of the DAG that the action starts a run of.

    Raises:
        HTTPException: 403, the form is not from this site, or the user may not trigger the DAG;
            404, no such action or DAG; 422, a field is missing or wrong.
    """
    if not comes_from_here(request):
        raise HTTPException(403, "this form was not sent by a page of this site")
    action = ACTION.get(form.action)
    if action is None:
        raise HTTPException(404, f"there is no action {form.action}")
    dag = action.dag_of(_deployment_of(dag_id).name)
    if not _is_allowed(user, dag, "POST", DagAccessEntity.RUN):
        msg = f"{action.label}: you may look, but this starts a run of {dag}, and you have no right"
        raise HTTPException(403, f"{msg} to trigger that DAG")
    try:
        conf = action.filled(form.model_dump())
    except ValueError as error:
        raise HTTPException(422, str(error)) from None
    try:
        started = start(dag, conf, user.get_name())
    except (AirflowException, ValueError) as error:
        raise HTTPException(404, str(error)) from None
    told = page("started.html", title=dag_id, action=action, started=started)
    return HTMLResponse(told, status_code=201)


def _is_allowed(
    user: BaseUser, name: str, method: ResourceMethod, entity: DagAccessEntity | None = None
) -> bool:
    return get_auth_manager().is_authorized_dag(
        method=method, access_entity=entity, details=DagDetails(id=name), user=user
    )


def _deployment_of(name: str) -> Deployment:
    """Return the deployment of a pipeline.

    Raises:
        HTTPException: 404, no file has a pipeline of this name.
    """
    if NAME.fullmatch(name):
        deployments, _ = read_deployments(project_root(), pipelines_folder())
        for one in deployments:
            if one.name == name:
                return one
    raise HTTPException(404, f"no file in the folder of pipelines has the name {name}")


def _file_of(name: str) -> str:
    return _deployment_of(name).file


def _key_of(name: str, query: str) -> Sequence[str]:
    """Return the fields of a query's key; none, if the file has no such query any more."""
    pipeline = parse_pipeline(_deployment_of(name).text)
    return next((flow.key for flow in pipeline.flows if flow.name == query), ())


async def _lines(arguments: Sequence[str]) -> tuple[list[dict[str, Any]], str | None]:
    """Return the JSON objects that a command prints, or its error."""
    try:
        output = await run_quietly(arguments)
    except CommandError as error:
        return [], str(error)
    return [json.loads(line) for line in output.stdout if line.startswith("{")], None


async def _text(arguments: Sequence[str]) -> tuple[str, str | None]:
    """Return the text that a command prints, or its error."""
    try:
        output = await run_quietly(arguments)
    except CommandError as error:
        return "", str(error)
    return "\n".join(output.stdout), None
