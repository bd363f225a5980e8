"""Submits jobs to the Spark master over HTTP, finds, inspects and stops them.

Standalone Spark does not accept Python programs in cluster mode. So we submit `SparkSubmit` itself,
as a supervised JVM program that then runs our script in client mode inside the cluster.
Needs only httpx and the standard library: Airflow's environment can import it too.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from infra import jvm, spark_key
from infra.driver import ALIVE, Driver, client
from infra.endpoints import Endpoints
from infra.errors import InfraError
from infra.locks import locked
from infra.redacted import shown

REQUEST_S = 10.0
_MOVED = "RELAUNCHING"
"""State of a driver whose worker was lost, and which has been replaced by another driver."""

_MAIN_CLASS = "org.apache.spark.deploy.SparkSubmit"


def submit(
    endpoints: Endpoints,
    script: str | Path,
    args: Sequence[str],
    *,
    name: str,
    conf: Mapping[str, str] | None = None,
    supervise: bool = True,
) -> str:
    """Run a Python script as a driver in the cluster; at most one running driver per name.

    Args:
        script: absolute path of the program.
        name: while a driver with this name is running, it is returned, and nothing is submitted.
        supervise: whether the master restarts the driver when it dies with an error.

    Returns:
        The submission id of the new or the running driver.

    Raises:
        InfraError: the master does not answer, or refuses.
    """
    with _submissions(endpoints) as known:
        _settle(endpoints, known)
        living = _living(endpoints, known, name)
        if living is not None:
            return living
        # Written before the request: if we die in between, the next caller can tell whose the new
        # driver is, since submissions are serialized.
        known[name] = {"before": sorted(d["id"] for d in _drivers(endpoints))}
        known.save()
        request = _request(
            endpoints, str(script), args, name=name, conf=conf or {}, supervise=supervise
        )
        answer = _call(endpoints, "POST", f"{endpoints.spark_rest}/v1/submissions/create", request)
        if not answer.get("success"):
            del known[name]
            known.save()
            text = f"the Spark master refused {name}: {answer.get('message', answer)}"
            raise InfraError(text)
        known[name] = {"id": answer["submissionId"]}
        known.save()
        return str(answer["submissionId"])


def find_driver(endpoints: Endpoints, name: str) -> str | None:
    """Return the submission id of the running driver that was submitted under `name`, if any.

    Raises:
        InfraError: the master does not answer.
    """
    with _submissions(endpoints) as known:
        _settle(endpoints, known)
        known.save()
        return _living(endpoints, known, name)


def status(endpoints: Endpoints, submission_id: str) -> Driver:
    """Ask the master for a driver's state; a driver that it does not know is UNKNOWN.

    For a driver that has moved to another worker, return its id and state there.

    Raises:
        InfraError: the master does not answer.
    """
    with _submissions(endpoints) as known:
        submission_id, answer = _follow(endpoints, known, submission_id)
        name = known.name_of(submission_id)
    return Driver(
        submission_id=submission_id,
        state=str(answer.get("driverState") or "UNKNOWN"),
        worker=str(answer.get("workerId") or ""),
        name=name,
        log_dir=_log_dir(endpoints, submission_id),
    )


def kill(endpoints: Endpoints, submission_id: str, *, wait_s: float = 20.0) -> bool:
    """Stop a driver for good, supervised or not, and wait until it is gone.

    Returns:
        False if it was not running.

    Raises:
        InfraError: the master does not answer, or the driver is still running after `wait_s`.
    """
    ordered: set[str] = set()
    until = time.monotonic() + wait_s
    while (driver := status(endpoints, submission_id)).state in ALIVE:
        if driver.submission_id not in ordered:  # it may move to another worker meanwhile
            ordered.add(driver.submission_id)
            _call(
                endpoints,
                "POST",
                f"{endpoints.spark_rest}/v1/submissions/kill/{driver.submission_id}",
                {},
            )
        if time.monotonic() > until:
            text = f"driver {submission_id} is still alive {wait_s:.0f} s after the order to end it"
            raise InfraError(text)
        time.sleep(0.2)
    return bool(ordered)


def list_drivers(endpoints: Endpoints) -> list[Driver]:
    """List the drivers that the master knows, running and ended, oldest first.

    Raises:
        InfraError: the master does not answer.
    """
    drivers = _drivers(endpoints)
    with _submissions(endpoints) as known:
        for one in drivers:
            if one["state"] == _MOVED:
                _successor(endpoints, known, one["id"], drivers)
        names = {one["id"]: known.name_of(one["id"]) for one in drivers}
    return [
        Driver(
            submission_id=one["id"],
            state=one["state"],
            worker=str(one.get("worker") or "").replace("None", ""),
            name=names[one["id"]],
            log_dir=_log_dir(endpoints, one["id"]),
        )
        for one in sorted(drivers, key=lambda one: (one["starttime"], one["id"]))
    ]


def _request(
    endpoints: Endpoints,
    script: str,
    args: Sequence[str],
    *,
    name: str,
    conf: Mapping[str, str],
    supervise: bool,
) -> dict[str, Any]:
    # Without --master among its own arguments, the job would run only inside the driver.
    submit_args = ["--master", endpoints.spark_master, "--deploy-mode", "client", "--name", name]
    for key, value in sorted(conf.items()):
        submit_args += ["--conf", f"{key}={value}"]
    settings = {
        "spark.app.name": name,
        "spark.master": endpoints.spark_master,
        "spark.submit.deployMode": "cluster",
        "spark.driver.supervise": str(supervise).lower(),
        "spark.jars": endpoints.jars,
        "spark.driver.extraJavaOptions": " ".join(jvm.DRIVER),
    }
    return {
        "action": "CreateSubmissionRequest",
        "appResource": f"file:{script}",
        "mainClass": _MAIN_CLASS,
        "appArgs": [*submit_args, script, *args],
        "clientSparkVersion": "4.2.0",
        "environmentVariables": {"SPARK_ENV_LOADED": "1"},
        "sparkProperties": {**settings, **conf},
    }


def _call(
    endpoints: Endpoints, method: str, url: str, body: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    try:
        given = spark_key.headers(endpoints.state_dir)
        answered = client().request(method, url, json=body, headers=given, timeout=REQUEST_S)
        if answered.status_code == httpx.codes.FORBIDDEN:
            text = (
                f"the Spark master at {shown(url)} does not take our token: it was started with "
                f"another secret than {endpoints.state_dir / 'spark' / 'secret'}, or its clock "
                f"and ours differ by more than {spark_key.TOKEN_S} s"
            )
            raise InfraError(text)
        answer = answered.json()
    except (httpx.HTTPError, ValueError) as error:
        text = (
            f"the Spark master does not answer at {shown(url)} ({type(error).__name__}); "
            "look with `slackwater status`, start it with `slackwater up`"
        )
        raise InfraError(text) from error
    return dict(answer)


def _drivers(endpoints: Endpoints) -> list[dict[str, Any]]:
    page = _call(endpoints, "GET", f"{endpoints.spark_ui}/json/")
    return [one for key in ("activedrivers", "completeddrivers") for one in page.get(key, [])]


def _log_dir(endpoints: Endpoints, submission_id: str) -> Path | None:
    """Find the driver's folder: each worker keeps one for every driver it has run."""
    found = (endpoints.state_dir / "spark").glob(f"work-*/{submission_id}")
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


# --- who was submitted under which name --------------------------------------------------------


class _Submissions(dict[str, dict[str, Any]]):
    """By name: the last submission, `{"id": …}`, or one not confirmed yet, `{"before": [ids]}`.

    If its worker was lost, `earlier` has its previous ids.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(json.loads(path.read_text()) if path.exists() else {})
        self._path = path

    def name_of(self, submission_id: str) -> str:
        return next((name for name, one in self.items() if one.get("id") == submission_id), "")

    def save(self) -> None:
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(self, indent=2, sort_keys=True))
        part.replace(self._path)


@contextmanager
def _submissions(endpoints: Endpoints) -> Iterator[_Submissions]:
    """Open the register for one caller at a time."""
    folder = endpoints.state_dir / "spark"
    with locked(folder / "submissions.lock"):
        yield _Submissions(folder / "submissions.json")


def _settle(endpoints: Endpoints, known: _Submissions) -> None:
    """Resolve submissions whose caller died before it got the answer."""
    open_names = [name for name, one in known.items() if "id" not in one]
    if not open_names:
        return
    drivers = sorted(_drivers(endpoints), key=lambda one: (one["starttime"], one["id"]))
    for name in open_names:
        taken = {*known[name]["before"], *(one.get("id") for one in known.values())}
        fresh = [one["id"] for one in drivers if one["id"] not in taken]
        if fresh:
            known[name] = {"id": fresh[0]}
        else:
            del known[name]


def _living(endpoints: Endpoints, known: _Submissions, name: str) -> str | None:
    if name not in known:
        return None
    submission_id, answer = _follow(endpoints, known, str(known[name]["id"]))
    return submission_id if answer.get("driverState") in ALIVE else None


def _follow(
    endpoints: Endpoints, known: _Submissions, submission_id: str
) -> tuple[str, dict[str, Any]]:
    """Ask for a driver's status; if it has moved, for its replacement's."""
    while True:
        answer = _call(
            endpoints, "GET", f"{endpoints.spark_rest}/v1/submissions/status/{submission_id}"
        )
        if answer.get("driverState") != _MOVED:
            return submission_id, answer
        successor = _successor(endpoints, known, submission_id, _drivers(endpoints))
        if successor is None:
            return submission_id, answer
        submission_id = successor


def _successor(
    endpoints: Endpoints, known: _Submissions, moved: str, drivers: Sequence[Mapping[str, Any]]
) -> str | None:
    """Find the new id of a driver that was restarted elsewhere when its worker was lost.

    The master gives it another id without reporting it; the new worker's log has it. None while it
    waits for a worker.
    """
    later = next((one["id"] for one in known.values() if moved in one.get("earlier", ())), None)
    if later is not None:
        return str(later)
    name = known.name_of(moved)
    taken = {
        one_id for one in known.values() for one_id in (one.get("id"), *one.get("earlier", ()))
    }
    for driver in sorted(drivers, key=lambda one: (one["starttime"], one["id"]), reverse=True):
        if name and driver["id"] not in taken and _launched_as(endpoints, driver["id"], name):
            earlier = [*known[name].get("earlier", ()), moved]
            known[name] = {"id": driver["id"], "earlier": earlier}
            known.save()
            return str(driver["id"])
    return None


def _launched_as(endpoints: Endpoints, submission_id: str, name: str) -> bool:
    folder = _log_dir(endpoints, submission_id)
    log = folder / "stderr" if folder else None
    if log is None or not log.exists():
        return False
    with log.open(encoding="utf-8", errors="replace") as lines:
        return f'"-Dspark.app.name={name}"' in lines.readline()
