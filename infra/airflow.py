"""The scheduler: Airflow's four services, each in its own process, on SQLite.

Airflow has its own Python environment (ADR 5), so nothing of it is imported here.
"""

import base64
import hashlib
import json
import secrets
import subprocess
from datetime import datetime
from pathlib import Path

import httpx

from infra import kafka_settings
from infra.daemon import Component, Daemon, Ports, shared_environment
from infra.errors import InfraError, NotReady
from infra.layout import AIRFLOW_VENV, ROOT, SETUP, Layout
from infra.ports import HOST
from infra.private import write_private

PORTS = {"airflow": 8080}
"""Airflow's default port."""

USER = "admin"
REQUEST_S = 2.0
MIGRATE_S = 180.0
START_S = 120.0
DATABASE_LOCK_S = 60

SETTINGS = {
    "CORE__DAGS_FOLDER": str(ROOT / "dags"),
    "CORE__PLUGINS_FOLDER": str(ROOT / "dags" / "plugins"),
    "CORE__LOAD_EXAMPLES": "False",
    "CORE__EXECUTOR": "LocalExecutor",
    "CORE__PARALLELISM": "4",
    "CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
    "API__WORKERS": "1",
    # An edited pipeline file shows up within seconds.
    "DAG_PROCESSOR__REFRESH_INTERVAL": "10",
    "DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "5",
    "DAG_PROCESSOR__PARSING_PROCESSES": "1",
    "DAG_PROCESSOR__PRINT_STATS_INTERVAL": "0",
    # A cleared task must submit its job again, not find the finished one.
    "STATE_STORE__CLEAR_ON_SUCCESS": "True",
    # A task that is marked failed stops its job: the driver has twenty seconds, a command its
    # start.
    "TRIGGERER__ON_KILL_TIMEOUT": "120",
}
"""Settings for Airflow as a process and in a container."""


def component(layout: Layout, ports: Ports) -> Component:
    """Describe the four services for the given port."""
    port = ports["airflow"]
    api = ("api-server", "--host", HOST, "--port", str(port))
    return Component(
        "airflow",
        lambda: _prepare(layout, ports),
        (
            (
                _daemon(layout, ports, "api-server", api),
                # Logs are read from the disk by the api-server: no log servers on open ports.
                _daemon(layout, ports, "scheduler", ("scheduler", "--skip-serve-logs")),
                _daemon(layout, ports, "dag-processor", ("dag-processor",)),
                _daemon(layout, ports, "triggerer", ("triggerer", "--skip-serve-logs")),
            ),
        ),
    )


def _daemon(layout: Layout, ports: Ports, service: str, arguments: tuple[str, ...]) -> Daemon:
    return Daemon(
        name=f"airflow-{service}",
        command=(str(AIRFLOW_VENV / "bin" / "airflow"), *arguments),
        environment=environment(layout, ports),
        check=lambda started: check(ports["airflow"], service, started),
        start_s=START_S,
        stop_s=15.0,
        keeps=(kafka_settings.PREFIX,),  # its tasks call commands, which log in
    )


def check(port: int, service: str, started: float) -> None:
    """Ask the api-server for the health of a service.

    Args:
        port: the api-server's port.
        service: api-server, scheduler, dag-processor or triggerer.
        started: when the service's process started, seconds since 1970; an older heartbeat is its
            predecessor's.

    Raises:
        NotReady: the service is not healthy, or the api-server cannot be asked.
    """
    url = f"http://{HOST}:{port}/api/v2/monitor/health"
    try:
        with httpx.Client(timeout=REQUEST_S, trust_env=False) as client:
            health = client.get(url).raise_for_status().json()
    except (httpx.HTTPError, ValueError) as error:
        text = f"{url} does not answer ({type(error).__name__})"
        raise NotReady(text) from error
    key = {"api-server": "metadatabase"}.get(service, service.replace("-", "_"))
    if health[key]["status"] != "healthy":
        text = f"airflow reports {key} as {health[key]['status']}"
        raise NotReady(text)
    if service == "api-server":
        return
    beat = health[key][f"latest_{key}_heartbeat"]
    if beat is None or datetime.fromisoformat(beat).timestamp() < started:
        text = f"{service} has not given a sign of life yet"
        raise NotReady(text)


def environment(layout: Layout, ports: Ports) -> dict[str, str]:
    """Return Airflow's settings as environment variables; there is no airflow.cfg to edit.

    Creates the secrets of this state folder if they do not exist yet.
    """
    kept = _secrets(layout)
    port = ports["airflow"]
    settings = {
        **SETTINGS,
        "CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords_file(layout)),
        "CORE__EXECUTION_API_SERVER_URL": f"http://{HOST}:{port}/execution/",
        "CORE__FERNET_KEY": kept["fernet"],
        "API__BASE_URL": f"http://{HOST}:{port}",
        "API__SECRET_KEY": kept["session"],
        "API_AUTH__JWT_SECRET": kept["jwt"],
        "DATABASE__SQL_ALCHEMY_CONN": database_url(layout.airflow / "airflow.db"),
        "LOGGING__BASE_LOG_FOLDER": str(layout.logs / "airflow"),
    }
    return {
        "AIRFLOW_HOME": str(layout.airflow),
        **{f"AIRFLOW__{name}": value for name, value in settings.items()},
    }


def database_url(file: Path) -> str:
    """Return the URL of Airflow's database in a file.

    Four services write to it, one at a time. After five seconds, SQLite's default, those that wait
    get the error that it is locked: on a busy machine the API then answers with a status of 500.
    """
    return f"sqlite:///{file}?timeout={DATABASE_LOCK_S}"


def password(layout: Layout) -> str:
    """Read the password of the only user.

    Raises:
        InfraError: the file is missing, or not as we wrote it.
    """
    try:
        return str(json.loads(passwords_file(layout).read_text())[USER])
    except (OSError, ValueError, KeyError) as error:
        text = f"no password for {USER} in {passwords_file(layout)}; run `slackwater up`"
        raise InfraError(text) from error


def passwords_file(layout: Layout) -> Path:
    """Return the file from which Airflow reads its user's password."""
    return layout.airflow / "simple_auth_manager_passwords.json.generated"


def _secrets(layout: Layout) -> dict[str, str]:
    """Read the secrets of this state folder; create them the first time, for its owner only."""
    path = layout.airflow / "secrets.json"
    if not path.exists():
        fresh = {
            "fernet": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
            "session": secrets.token_hex(32),
            "jwt": secrets.token_hex(32),
        }
        write_private(path, json.dumps(fresh))
        # Airflow would create the password itself, and print it to its log.
        write_password(layout, secrets.token_urlsafe(12))
    return json.loads(path.read_text())  # type: ignore[no-any-return]


def write_password(layout: Layout, text: str) -> None:
    """Write the file from which Airflow reads its user's password."""
    write_private(passwords_file(layout), json.dumps({USER: text}) + "\n")


def _prepare(layout: Layout, ports: Ports) -> None:
    command = AIRFLOW_VENV / "bin" / "airflow"
    if not command.exists():
        text = f"Airflow is not installed in {AIRFLOW_VENV}; run `{SETUP}`"
        raise InfraError(text)
    stamp = layout.airflow / "migrated"
    lock = ROOT / "infra" / "requirements" / "airflow.txt"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    layout.logs.mkdir(parents=True, exist_ok=True)
    log = layout.logs / "airflow-migrate.log"
    with log.open("wb") as out:
        try:
            code = subprocess.run(
                [str(command), "db", "migrate"],
                env=shared_environment(layout) | environment(layout, ports),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                timeout=MIGRATE_S,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired as error:
            text = f"Airflow's database was not ready after {MIGRATE_S:.0f} s; see {log}"
            raise InfraError(text) from error
    if code != 0:
        text = f"Airflow's database cannot be created (code {code}); see {log}"
        raise InfraError(text)
    stamp.write_text(wanted)
