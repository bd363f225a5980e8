"""A small Airflow for the DAG tests: its own home, a fresh database, two stand-ins.

Run with Airflow's environment: `.slackwater/airflow-venv/bin/python -m pytest tests/dags`. In the
main environment there is no Airflow, and nothing here is collected.
"""

import faulthandler
import importlib.util
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cluster import Cluster
from pages import anybody, replies, stored  # noqa: F401 - fixtures

PROJECT = Path(__file__).resolve().parents[2]
DAGS = PROJECT / "dags"
STAND_IN = Path(__file__).with_name("stand_in.py")

WATCHERS = "^(monitor|check_again)$"
"""The tasks that wait as long as a job lives."""

END_S = 180
"""How long the process may take to end after its last test: seconds, on a busy machine."""

_HAS_AIRFLOW = importlib.util.find_spec("airflow") is not None

if not _HAS_AIRFLOW:
    collect_ignore_glob = ["test_*.py"]
else:
    # Airflow reads its settings when it is first imported.
    HOME = Path(tempfile.mkdtemp(prefix="slackwater-dags-"))
    ROOT = HOME / "root"
    (ROOT / "pipelines").mkdir(parents=True)
    sys.path.insert(0, str(PROJECT))
    from infra.airflow import database_url

    DATABASE = HOME / "airflow" / "airflow.db"
    os.environ.update(
        {
            "AIRFLOW_HOME": str(HOME / "airflow"),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database_url(DATABASE),
            "AIRFLOW__CORE__DAGS_FOLDER": str(PROJECT / "dags"),
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(PROJECT / "dags" / "plugins"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": "2",
            "AIRFLOW__API_AUTH__JWT_SECRET": "of these tests, for this machine only, 64 bytes" * 2,
            "AIRFLOW__STATE_STORE__CLEAR_ON_SUCCESS": "True",
            "PYTHONPATH": str(PROJECT),
            "SLACKWATER_ROOT": str(ROOT),
            "SLACKWATER_COMMAND": f"{sys.executable} {STAND_IN}",
        }
    )

NOTIFIER = """\
import json
from pathlib import Path

from airflow.sdk import BaseNotifier


class Notifier(BaseNotifier):
    def notify(self, context):
        ti = context["ti"]
        line = json.dumps({"dag": ti.dag_id, "task": ti.task_id, "why": str(context["exception"])})
        with Path(__file__).with_name("alerts.jsonl").open("a") as file:
            file.write(line + "\\n")


notify = Notifier()
"""
"""A user's module, with one of Airflow's notifiers that notes its alerts."""


def pytest_configure():
    """Ended from outside, these tests end Airflow's services, as they do after Ctrl-C."""
    if _HAS_AIRFLOW:
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_sessionfinish():
    """A thread that is left must not keep the process: it is shown, and the process fails."""
    if _HAS_AIRFLOW:
        faulthandler.dump_traceback_later(END_S, exit=True, file=sys.__stderr__)


def pytest_unconfigure():
    if _HAS_AIRFLOW:
        shutil.rmtree(HOME, ignore_errors=True)


def pytest_collection_modifyitems(items):
    """On real services a test that hangs fails alone: its end must not leave them running."""
    for item in items:
        if item.get_closest_marker("stack"):
            item.add_marker(pytest.mark.timeout(method="signal"))


def load_dags() -> dict:
    """All DAGs, as parsed."""
    from airflow.dag_processing.dagbag import DagBag

    return DagBag(dag_folder=DAGS, bundle_path=DAGS, bundle_name="dags-folder").dags


def store_dags() -> None:
    """Have all DAGs in Airflow's database, as its DAG processor stores them."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db

    DagBundlesManager().sync_bundles_to_db()
    bag = DagBag(dag_folder=DAGS, bundle_path=DAGS, bundle_name="dags-folder")
    sync_bag_to_db(bag, "dags-folder", None)


def run_through(dag, **conf):
    """One DAG run in this process; the tasks that watch the job count as done, or it had no end."""
    return dag.test(run_conf=conf, mark_success_pattern=WATCHERS)


def states(run) -> dict[str, str]:
    """The state of each task of a DAG run."""
    return {ti.task_id: ti.state for ti in run.get_task_instances()}


@pytest.fixture(scope="session")
def airflow_database():
    """Airflow's database, migrated once."""
    from airflow.utils.db import initdb

    initdb()


@contextmanager
def stand_ins(folder: Path):
    """An empty cluster with the master's REST server before it; yields both.

    The second is the environment in which `slackwater` is the stand-in that shares the cluster.
    """
    place = folder / "cluster"
    place.mkdir()
    here = Cluster(place)

    class Master(BaseHTTPRequestHandler):
        """Answers as Spark's REST server does."""

        def do_GET(self):
            job = self.path.rpartition("/")[2]
            state = here.jobs().get(job, {}).get("state")
            answer = {"action": "SubmissionStatusResponse", "success": state is not None}
            body = json.dumps(answer | ({"driverState": state} if state else {})).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Master)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield (
            here,
            {
                "STAND_IN_DIR": str(place),
                "SLACKWATER_STATE_DIR": str(folder / "state"),
                "SLACKWATER_SPARK_REST": f"http://127.0.0.1:{server.server_port}",
            },
        )
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """An empty cluster; `slackwater` and the master's REST server are stand-ins that share it."""
    with stand_ins(tmp_path) as (here, environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield here


@pytest.fixture(scope="session")
def stage(airflow_database, tmp_path_factory):
    """Airflow's services over a cluster and a folder of pipelines of their own; for all tests."""
    from services import running_airflow
    from stage import Stage

    folder = tmp_path_factory.mktemp("stage")
    (folder / "pipelines").mkdir()
    with stand_ins(folder) as (here, environment):
        (folder / "my_alerts.py").write_text(NOTIFIER)
        here_too = {
            "SLACKWATER_ROOT": str(folder),
            "SLACKWATER_MONITOR_SECONDS": "0.5",
            "SLACKWATER_ALERTS": "my_alerts:notify",
            "PYTHONPATH": f"{PROJECT}{os.pathsep}{folder}",
        }
        with running_airflow(folder, environment | here_too) as airflow:
            yield Stage(airflow, here, folder / "pipelines", DATABASE)


@pytest.fixture
def pipelines():
    """The folder of pipeline files, with the project's flights in it and nothing else."""
    folder = ROOT / "pipelines"
    for old in folder.iterdir():
        old.unlink()
    shutil.copy(PROJECT / "pipelines" / "flight_delays.yml", folder)
    return folder
