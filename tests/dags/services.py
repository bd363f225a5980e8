"""Airflow's four services as processes of a test, and its REST API."""

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx

SERVICES = ("api-server", "scheduler", "dag-processor", "triggerer")


class Airflow:
    """A client of the REST API, as the one user of these tests."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=90, trust_env=False)

    def healthy(self) -> bool:
        """Whether all four services have given a sign of life."""
        try:
            health = self._http.get("/api/v2/monitor/health").json()
        except (httpx.HTTPError, ValueError):
            return False
        parts = ("metadatabase", "scheduler", "dag_processor", "triggerer")
        return all(health.get(part, {}).get("status") == "healthy" for part in parts)

    def log_in(self) -> None:
        """Gets a token; everybody is an admin here."""
        token = self._http.get("/auth/token").raise_for_status().json()["access_token"]
        self._http.headers["Authorization"] = f"Bearer {token}"

    def get(self, path: str) -> dict:
        return _content(self._http.get(f"/api/v2/{path}"))

    def post(self, path: str, **body: object) -> dict:
        return _content(self._http.post(f"/api/v2/{path}", json=body))

    def patch(self, path: str, **body: object) -> dict:
        return _content(self._http.patch(f"/api/v2/{path}", json=body))

    def ask(self, method: str, path: str, **body: object) -> httpx.Response:
        """The answer as it is, for what is to be refused."""
        return self._http.request(method, f"/api/v2/{path}", json=body or None)

    def knows(self, dag: str) -> bool:
        """Whether the DAG processor has read the DAG."""
        return self._http.get(f"/api/v2/dags/{dag}").status_code == httpx.codes.OK


def _content(answer: httpx.Response) -> dict:
    """What a request came to; a refusal fails with what Airflow says of it."""
    assert answer.is_success, f"{answer.request.method} {answer.url}: {answer}: {answer.text}"
    return answer.json()


def wait_for(what, seconds: float, message: str):
    """The first true value of `what()`; fails after so many seconds."""
    until = time.monotonic() + seconds
    while not (value := what()):
        assert time.monotonic() < until, f"{message}: not within {seconds} s"
        time.sleep(0.5)
    return value


@contextmanager
def running_airflow(logs: Path, more: dict[str, str]):
    """Starts the services, yields the client, ends them by pid.

    Args:
        logs: folder of the services' output.
        more: variables of their environment.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    settings = {
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__API__EXPOSE_STACKTRACE": "True",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "5",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "5",
        # A busy machine is no reason for a task to give up its API server after five seconds.
        "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
        "AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT": "300",
        "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "240",
        "AIRFLOW__TRIGGERER__ON_KILL_TIMEOUT": "300",
        "AIRFLOW__DAG_PROCESSOR__STALE_DAG_THRESHOLD": "10",
        "AIRFLOW__SCHEDULER__PARSING_CLEANUP_INTERVAL": "5",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "900",
    }
    options = {"api-server": ("--host", "127.0.0.1", "--port", str(port))}
    started = []
    try:
        for name in SERVICES:
            with (logs / f"{name}.log").open("wb") as log:
                started.append(
                    subprocess.Popen(
                        [sys.executable, "-m", "airflow", name, *options.get(name, ())],
                        env=os.environ | settings | more,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                    )
                )
        airflow = Airflow(url)
        wait_for(airflow.healthy, 240, f"Airflow is healthy (logs in {logs})")
        airflow.log_in()
        yield airflow
    finally:
        _end(started)


def _end(started: list[subprocess.Popen]) -> None:
    import psutil

    family = [
        process
        for one in started
        if one.poll() is None
        for process in [*psutil.Process(one.pid).children(recursive=True), psutil.Process(one.pid)]
    ]
    for one in started:
        one.terminate()
    _, alive = psutil.wait_procs(family, timeout=15)
    for process in alive:
        process.kill()
    for one in started:
        one.wait(10)
