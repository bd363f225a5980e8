"""What all our pages on Airflow's own site share: login, rights, policy, refusals in words.

Airflow mounts the applications of plugins without authentication, and its own handlers of errors
do not reach into them. Rights are those of the DAG, as the auth manager grants them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.base_auth_manager import ResourceMethod
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import get_user, requires_access_dag
from airflow.models.dag import DagModel
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.exception_handlers import http_exception_handler
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.types import Message, Receive, Scope, Send

from dags.page.views import page

MAY_READ: Final = Depends(requires_access_dag("GET"))
"""Required of all that shows something of the pipeline `dag_id` of the address."""


def may(
    user: BaseUser, dag_id: str, method: ResourceMethod, entity: DagAccessEntity | None = None
) -> bool:
    """Whether a user may do something with a DAG, or with that part of it."""
    details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))
    return get_auth_manager().is_authorized_dag(
        method=method, access_entity=entity, details=details, user=user
    )


def may_trigger(user: BaseUser, dag_id: str) -> bool:
    """Whether a user may start a run of a DAG."""
    return may(user, dag_id, "POST", DagAccessEntity.RUN)


def readable(user: BaseUser, dag_ids: Sequence[str]) -> list[str]:
    """Return those of some DAGs that a user may read."""
    return [dag_id for dag_id in dag_ids if may(user, dag_id, "GET")]


PATH_MAX: Final = 1_000
"""The most characters of a path: no name of ours, nor three of them together, is longer."""

QUERY_MAX: Final = 16_384
"""The most bytes of what stands after the question mark."""

BODY_MAX: Final = 65_536
"""The most bytes of a form: it is read before anybody has asked who sends it."""

_MISTAKES_MAX: Final = 5
"""How many mistakes of a form are reported at once."""


class Site(FastAPI):
    """An application whose pages need a login, and whose every response carries a policy.

    Args:
        policy: the headers that say what a browser may do with them.
    """

    def __init__(self, *, title: str, policy: Mapping[str, str], **more: Any) -> None:
        self._policy = dict(policy)
        super().__init__(
            title=title,
            dependencies=[Depends(get_user)],
            docs_url=None,
            redoc_url=None,
            openapi_url=None,
            exception_handlers={
                AnyHTTPException: self._refused,
                RequestValidationError: self._misspelled,
                Exception: self._broken,
            },
            **more,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; the policy stands on the answer, whoever has made it."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return

        async def harmless(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._policy)
            await send(message)

        read = 0

        async def limited() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > BODY_MAX:
                msg = f"more than {BODY_MAX:,} bytes were sent, which no form of ours has"
                raise HTTPException(413, msg, {"Connection": "close"})
            return message

        if (error := _problem_of(scope)) is None:
            await super().__call__(scope, limited, harmless)
        else:
            answer = await self._refused(Request(scope, receive), error)
            await answer(scope, receive, harmless)

    async def _refused(self, request: Request, error: Exception) -> Response:
        """Say why there is no answer: a browser gets a page, a program JSON."""
        assert isinstance(error, AnyHTTPException)  # noqa: S101 - as registered
        if "text/html" not in request.headers.get("accept", ""):
            return await http_exception_handler(request, error)
        text = page("refused.html", title=self.title, why=error.detail)
        return HTMLResponse(text, status_code=error.status_code, headers=error.headers)

    async def _misspelled(self, request: Request, error: Exception) -> Response:
        """Say which field is wrong, without its value, which may be anything."""
        assert isinstance(error, RequestValidationError)  # noqa: S101 - as registered
        mistakes = [
            f"{'.'.join(str(part) for part in one['loc'][1:])}: {one['msg']}"
            for one in error.errors()[:_MISTAKES_MAX]
        ]
        return await self._refused(request, HTTPException(422, "; ".join(mistakes)))

    async def _broken(self, request: Request, error: Exception) -> Response:
        """Say that it is our fault; Airflow's log has the rest, as the error is passed to it."""
        message = f"this page could not be made ({type(error).__name__}): see the API server's log"
        return await self._refused(request, HTTPException(500, message))


def _problem_of(scope: Scope) -> HTTPException | None:
    path, query = str(scope["path"]), bytes(scope["query_string"])
    if len(path) > PATH_MAX or len(query) > QUERY_MAX:
        msg = f"the address is longer than {PATH_MAX:,} characters, or its query than {QUERY_MAX:,}"
        return HTTPException(414, f"{msg}: follow a link of a page")
    if "\0" in path or b"\0" in unquote_to_bytes(query):
        return HTTPException(
            400, "the address has the character NUL, which no name has: leave it out"
        )
    return None
