"""Submits jobs to YARN, finds, inspects and stops them.

A job is a Spark application in cluster mode: its driver is YARN's application master, which YARN
starts again if it dies. `spark-submit` submits; the ResourceManager answers for the rest over HTTP.
Checkpoint, tables, code and Python are where they are on this machine: a cluster of several needs
them at the same paths.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from infra import elsewhere, spark
from infra.driver import ALIVE, Driver, client
from infra.endpoints import Endpoints
from infra.errors import InfraError
from infra.layout import ROOT
from infra.locks import locked
from infra.redacted import shown

REQUEST_S = 10.0
SUBMIT_S = 120.0
ATTEMPTS = 1_000
"""How often YARN starts a driver that dies; those of the last hour count."""

_CONF = ROOT / "infra" / "cluster" / "spark.conf"
_STATES = {
    "NEW": "SUBMITTED",
    "NEW_SAVING": "SUBMITTED",
    "SUBMITTED": "SUBMITTED",
    "ACCEPTED": "SUBMITTED",
    "RUNNING": "RUNNING",
    "FAILED": "FAILED",
    "KILLED": "KILLED",
}
_ID = re.compile(r"Submitted application (application_\d+_\d+)")
# The ResourceManager takes orders from programs alone: a page in a browser cannot set this.
_HEADERS = {"Accept": "application/json", "X-XSRF-Header": "slackwater"}


def submit(
    endpoints: Endpoints,
    script: str | Path,
    args: Sequence[str],
    *,
    name: str,
    conf: Mapping[str, str] | None = None,
    supervise: bool = True,
) -> str:
    """Run a Python script as a driver in YARN; at most one running driver per name.

    Args:
        script: absolute path of the program.
        name: while a driver with this name is running, it is returned, and nothing is submitted.
        supervise: whether YARN starts the driver again when it dies with an error.

    Returns:
        The id of the new or the running application.

    Raises:
        InfraError: the ResourceManager does not answer, or YARN refuses.
    """
    # Two at once could both find that none is running.
    with locked(endpoints.state_dir / "yarn" / "submissions.lock"):
        living = find_driver(endpoints, name)
        if living is not None:
            return living
        settings = _settings(endpoints, supervise=supervise) | dict(conf or {})
        output = _spark_submit(endpoints, name, settings, [str(script), *args])
        found = _ID.search(output)
        if found is None:
            text = f"YARN did not take {name}: {_last_error(output)}"
            raise InfraError(text)
        return found[1]


def find_driver(endpoints: Endpoints, name: str) -> str | None:
    """Return the id of the running application with this name, if any.

    Raises:
        InfraError: the ResourceManager does not answer.
    """
    for driver in reversed(list_drivers(endpoints)):
        if driver.name == name and driver.state in ALIVE:
            return driver.submission_id
    return None


def status(endpoints: Endpoints, submission_id: str) -> Driver:
    """Ask for a driver's state; an application that YARN does not know is UNKNOWN.

    Raises:
        InfraError: the ResourceManager does not answer.
    """
    answer = _call(endpoints, "GET", f"apps/{submission_id}")
    if "app" not in answer:
        return Driver(submission_id, "UNKNOWN", "", "", None)
    return _driver(endpoints, answer["app"])


def kill(endpoints: Endpoints, submission_id: str, *, wait_s: float = 20.0) -> bool:
    """Stop a driver for good, and wait until it is gone.

    Returns:
        False if it was not running.

    Raises:
        InfraError: the ResourceManager does not answer, or the driver is still running after
            `wait_s`.
    """
    if status(endpoints, submission_id).state not in ALIVE:
        return False
    _call(endpoints, "PUT", f"apps/{submission_id}/state", {"state": "KILLED"})
    until = time.monotonic() + wait_s
    while status(endpoints, submission_id).state in ALIVE:
        if time.monotonic() > until:
            text = f"{submission_id} is still alive {wait_s:.0f} s after the order to end it"
            raise InfraError(text)
        time.sleep(0.2)
    return True


def list_drivers(endpoints: Endpoints) -> list[Driver]:
    """List the drivers that YARN knows, running and ended, oldest first.

    Raises:
        InfraError: the ResourceManager does not answer.
    """
    answer = _call(endpoints, "GET", "apps?applicationTypes=SPARK")
    found = (answer.get("apps") or {}).get("app", [])
    in_order = sorted(found, key=lambda one: (one["startedTime"], one["id"]))
    return [_driver(endpoints, one) for one in in_order]


def page_of(endpoints: Endpoints, submission_id: str) -> str:
    """Return YARN's page of an application, which links to Spark's."""
    return f"{shown(endpoints.yarn_ui)}/cluster/app/{submission_id}"


def _driver(endpoints: Endpoints, app: Mapping[str, Any]) -> Driver:
    state = _STATES.get(app["state"])
    if state is None:  # FINISHED, FINISHING
        state = "FINISHED" if app["finalStatus"] == "SUCCEEDED" else "FAILED"
    return Driver(
        submission_id=app["id"],
        state=state,
        worker=str(app.get("amHostHttpAddress") or ""),
        name=app["name"],
        log_dir=_log_dir(endpoints, app["id"]),
        news=" ".join(str(app.get("diagnostics") or "").split()),
    )


def _log_dir(endpoints: Endpoints, submission_id: str) -> Path | None:
    """Find the folder of the newest driver: the first container of the last attempt."""
    folders = (endpoints.state_dir / "yarn" / "logs" / submission_id).glob("container_*_000001")
    return max(folders, default=None)


def _spark_submit(
    endpoints: Endpoints, name: str, settings: Mapping[str, str], program: Sequence[str]
) -> str:
    """Submit a program; return what that said.

    Raises:
        InfraError: it did not come to an end.
    """
    command = [str(Path(spark.home()) / "bin" / "spark-submit"), "--master", "yarn"]
    command += ["--deploy-mode", "cluster", "--name", name, "--properties-file", str(_CONF)]
    for key, value in sorted(settings.items()):
        command += ["--conf", f"{key}={value}"]
    try:
        done = subprocess.run(
            [*command, *program],
            env=_environment(endpoints),
            capture_output=True,
            text=True,
            timeout=SUBMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        text = (
            f"YARN did not take {name} within {SUBMIT_S:.0f} s: `slackwater runs` shows if it has"
        )
        raise InfraError(text) from None
    return done.stderr


def _last_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if "rror" in line or "xception" in line]
    return lines[-1] if lines else f"spark-submit said {text.strip()[-200:] or 'nothing'}"


def _settings(endpoints: Endpoints, *, supervise: bool) -> dict[str, str]:
    """Return the settings of every job, beside those of every cluster."""
    python = str(Path(sys.executable))
    of_python = {"PYSPARK_PYTHON": python, "PYTHONPATH": str(endpoints.code)}
    return {
        "spark.jars": endpoints.jars,
        # Nothing is shipped that every machine has.
        "spark.yarn.jars": f"local:{spark.home()}/jars/*",
        "spark.yarn.submit.waitAppCompletion": "false",
        "spark.yarn.maxAppAttempts": str(ATTEMPTS if supervise else 1),
        "spark.yarn.am.attemptFailuresValidityInterval": "1h",
        **{f"spark.yarn.appMasterEnv.{name}": value for name, value in of_python.items()},
        **{f"spark.executorEnv.{name}": value for name, value in of_python.items()},
    }


def _environment(endpoints: Endpoints) -> dict[str, str]:
    return {
        **os.environ,
        # The local stack's, unless the cluster is elsewhere: then the user has set it.
        **({} if elsewhere.is_named() else {elsewhere.HADOOP_CONF: str(_conf_dir(endpoints))}),
        "SPARK_HOME": spark.home(),
    }


def _conf_dir(endpoints: Endpoints) -> Path:
    return endpoints.state_dir / "yarn" / "conf"


def _call(
    endpoints: Endpoints, method: str, path: str, body: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    url = f"{endpoints.yarn_ui}/ws/v1/cluster/{path}"
    try:
        answered = client().request(method, url, json=body, headers=_HEADERS, timeout=REQUEST_S)
        if answered.status_code == httpx.codes.NOT_FOUND:
            return {}
        answered.raise_for_status()
        return dict(answered.json())
    except (httpx.HTTPError, ValueError) as error:
        text = (
            f"YARN does not answer at {shown(url)} ({_kind(error)}); look with "
            "`slackwater status`, start it with `slackwater up --stack yarn`"
        )
        raise InfraError(text) from error


def _kind(error: Exception) -> str:
    """Name an error without its own words, which repeat the address."""
    if isinstance(error, httpx.HTTPStatusError):
        return str(error.response.status_code)
    return type(error).__name__
