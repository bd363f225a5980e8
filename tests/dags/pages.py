"""What the tests of the pages share: a project, what the command answers, and who is logged in."""

import json
import shutil
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
EXAMPLES = PROJECT / "tests" / "data" / "overview"
NAME = "flight_delays"
FILE = f"pipelines/{NAME}.yml"
SENT = {"sec-fetch-site": "same-origin"}
"""What a browser adds to a form of the page itself."""

# What `slackwater` prints, from a folder of answers, one file for each subcommand.
COMMAND = """
import pathlib, sys
folder = pathlib.Path(sys.argv[1])
(folder / "calls").open("a").write(" ".join(sys.argv[2:]) + "\\n")
found = folder / (sys.argv[2] + (".json" if "--json" in sys.argv else ".txt"))
if not found.exists():
    sys.exit("error: nothing is known of " + sys.argv[2])
print(found.read_text())
"""


def example(name=NAME):
    return json.loads((EXAMPLES / f"{name}.json").read_text())


@pytest.fixture
def replies(tmp_path, monkeypatch):
    """The folder of what the command answers, for a project with the pipeline of the flights."""
    folder, project = tmp_path / "answers", tmp_path / "project"
    (project / "pipelines").mkdir(parents=True)
    folder.mkdir()
    shutil.copy(PROJECT / "pipelines" / f"{NAME}.yml", project / "pipelines")
    script = tmp_path / "slackwater.py"
    script.write_text(COMMAND)
    monkeypatch.setenv("SLACKWATER_COMMAND", f"{sys.executable} {script} {folder}")
    monkeypatch.setenv("SLACKWATER_ROOT", str(project))
    monkeypatch.setenv("SLACKWATER_STATE_DIR", str(tmp_path / "state"))
    (folder / "overview.json").write_text(json.dumps(example()))
    return folder


@pytest.fixture
def anybody(airflow_database):
    """A client of the application that has not logged in."""
    from airflow.api_fastapi.app import create_auth_manager
    from fastapi.testclient import TestClient

    from dags.page.app import app

    create_auth_manager()
    with TestClient(app) as client:
        yield client


def login(client, role="viewer"):
    """Log a client in as the UI does it."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    user = SimpleAuthManagerUser(username=f"a-{role}", role=role)
    client.cookies.set("_token", get_auth_manager().generate_jwt(user))
    return client


def page(client, path=f"/{NAME}/"):
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.fixture
def stored(replies, pipelines):
    """All DAGs of the project in Airflow's database, that of a chaos plan among them."""
    plans = replies.parent / "project" / "chaos" / "plans"
    plans.mkdir(parents=True)
    shutil.copy(PROJECT / "chaos" / "plans" / "first.yml", plans)
    from conftest import store_dags

    store_dags()
