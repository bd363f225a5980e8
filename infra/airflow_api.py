"""A client for Airflow's REST API, for what a person would do in the UI."""

import time
from collections.abc import Mapping
from typing import Any, Self

import httpx

from infra.endpoints import Endpoints
from infra.errors import InfraError

REQUEST_S = 30.0


class AirflowApi:
    """A session with the stack's Airflow; used with `with`, it ends there.

    Raises:
        InfraError: Airflow does not answer, or refuses the login.
    """

    def __init__(self, endpoints: Endpoints) -> None:
        self._client = httpx.Client(base_url=endpoints.airflow_url, timeout=REQUEST_S)
        login = {"username": endpoints.airflow_user, "password": endpoints.airflow_password}
        token = self._call("POST", "/auth/token", login)["access_token"]
        self._client.headers["Authorization"] = f"Bearer {token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._client.close()

    def unpause(self, dag: str, *, within_s: float = 60.0) -> None:
        """Unpause a DAG, once Airflow has parsed it.

        Raises:
            InfraError: there is no such DAG after `within_s`; the text has Airflow's import errors.
        """
        until = time.monotonic() + within_s
        while True:
            answer = self._client.patch(f"/api/v2/dags/{dag}", json={"is_paused": False})
            if answer.status_code == httpx.codes.OK:
                return
            if time.monotonic() > until:
                errors = self._call("GET", "/api/v2/importErrors").get("import_errors", [])
                reasons = "; ".join(str(one.get("stack_trace", ""))[-300:] for one in errors)
                text = f"Airflow has no DAG {dag} after {within_s:.0f} s. {reasons}"
                raise InfraError(text)
            time.sleep(0.5)

    def trigger(self, dag: str, run_id: str, conf: Mapping[str, Any]) -> None:
        """Start a DAG run."""
        body = {"dag_run_id": run_id, "logical_date": None, "conf": dict(conf)}
        self._call("POST", f"/api/v2/dags/{dag}/dagRuns", body)

    def runs(self, dag: str) -> list[dict[str, Any]]:
        """Return the runs of a DAG, as Airflow reports them; none if it is not there yet."""
        answer = self._client.get(f"/api/v2/dags/{dag}/dagRuns")
        found: list[dict[str, Any]] = answer.json().get("dag_runs", [])
        return found

    def let_go(self, dag: str, run_id: str) -> None:
        """Mark a DAG run as a success; its job continues (marking it failed would stop the job)."""
        self._call("PATCH", f"/api/v2/dags/{dag}/dagRuns/{run_id}", {"state": "success"})

    def tasks(self, dag: str, run_id: str) -> dict[str, str]:
        """Return the state of each task of a DAG run; `none` if it has not started."""
        path = f"/api/v2/dags/{dag}/dagRuns/{run_id}/taskInstances"
        found = self._call("GET", path)["task_instances"]
        return {one["task_id"]: str(one["state"] or "none") for one in found}

    def log(self, dag: str, run_id: str, task: str, attempt: int = 1) -> str:
        """Return the output of a task."""
        path = f"/api/v2/dags/{dag}/dagRuns/{run_id}/taskInstances/{task}/logs/{attempt}"
        content = self._call("GET", path).get("content", [])
        return "\n".join(str(line.get("event", "")) for line in content if isinstance(line, dict))

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        try:
            answer = self._client.request(method, path, json=body)
            answer.raise_for_status()
        except httpx.HTTPStatusError as error:
            text = f"Airflow answered {error.response.status_code}: {error.response.text[:300]}"
            raise InfraError(text) from None
        except httpx.HTTPError as error:
            text = f"Airflow does not answer ({error}); see `slackwater status`"
            raise InfraError(text) from None
        return answer.json()
