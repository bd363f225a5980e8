"""A project of one's own: made by `init`, found from where one stands, with its own state."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from chaos.plan import load_plan_with_lines
from infra import layout
from infra.daemon import shared_environment
from infra.errors import InfraError
from slackwater.main import app
from slackwater.project import files
from windowing.model import Query, load_pipeline

VARIABLES = ("SLACKWATER_PROJECT", "SLACKWATER_STATE_DIR", "SLACKWATER_PIPELINES")
VARIABLES += ("SLACKWATER_PLANS", "SLACKWATER_PYTHON", "SLACKWATER_KAFKA_FILE", "PYTHONPATH")
EVENTS = ("--input", "data/events.jsonl", "--output", "out.jsonl")


def command(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A folder in no project; what a command says to those that it starts ends with the test."""
    for name in VARIABLES:
        monkeypatch.setenv(name, "")  # so that it is put back, whatever the command does
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name in VARIABLES:
        os.environ.pop(name, None)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    made = command("init", tmp_path / "shop")
    assert made.exit_code == 0, made.output
    return tmp_path / "shop"


def test_a_project_has_all_that_one_needs(shop: Path) -> None:
    there = {str(path.relative_to(shop)) for path in shop.rglob("*") if path.is_file()}
    assert there == {
        *("slackwater.yml", "pipelines/orders.yml", "data/events.jsonl", "plans/crash.yml"),
        *("tests/test_orders.py", ".gitignore", ".github/workflows/ci.yml"),
        *("README.md", "requirements.txt"),
    }
    assert len(there) == len(files())


@pytest.mark.parametrize("there", [".git", "notes.txt"])
def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path, there: str) -> None:
    """Nothing is overwritten, and nothing is put between what is there."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / there).write_text("kept")
    refused = command("init", tmp_path / "mine")
    assert refused.exit_code == 2
    assert f"is not empty, it has '{there}'" in " ".join(refused.output.replace("│", " ").split())
    assert [path.name for path in (tmp_path / "mine").iterdir()] == [there]
    (tmp_path / "file").write_text("kept")
    assert command("init", tmp_path / "file").exit_code == 2
    assert (tmp_path / "file").read_text() == "kept"


def test_commands_work_from_elsewhere_and_within(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = command("--project", shop, "run", "pipelines/orders.yml", *EVENTS)
    assert far.exit_code == 0, far.output
    assert "applied 240 + outside 0 + dropped 0 + dead 2" in far.stdout
    assert (shop / "out.jsonl").exists()
    monkeypatch.chdir(shop / "data")
    near = command(
        *("verify", "../pipelines/orders.yml", "--input", "events.jsonl"),
        *("--output", "../out.jsonl"),
    )
    assert near.exit_code == 0, near.output
    assert near.stdout.endswith("lost 0, duplicated 0, differing 0\n")


def test_state_and_dags_are_the_projects_own(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L5: what `up` keeps lies in the project, and Airflow reads its pipelines."""
    before = layout.default_layout()
    monkeypatch.chdir(shop / "tests")
    assert command("explain", "../pipelines/orders.yml").exit_code == 0
    found = layout.default_layout()
    assert before.state_dir == layout.HOME
    assert (found.state_dir, found.pipelines) == (shop / ".slackwater", shop / "pipelines")
    given = shared_environment(found)
    assert given["SLACKWATER_PROJECT"] == str(shop)
    assert given["SLACKWATER_PIPELINES"] == str(shop / "pipelines")
    assert given["SLACKWATER_PLANS"] == str(shop / "plans")


def test_a_pipeline_called_by_its_name_is_looked_for_in_the_project_alone(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody chose a project, the folder in which one stands goes before the checkout's."""
    assert layout.pipeline_folders() == (tmp_path / "pipelines", layout.ROOT / "pipelines")
    monkeypatch.chdir(layout.ROOT)
    assert layout.pipeline_folders() == (layout.ROOT / "pipelines",)
    monkeypatch.chdir(tmp_path)
    assert command("--project", shop, "explain", shop / "pipelines" / "orders.yml").exit_code == 0
    assert layout.pipeline_folders() == (shop / "pipelines",)


def test_a_state_folder_that_is_named_goes_before_the_projects(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACKWATER_STATE_DIR", str(tmp_path / "state"))
    assert command("--project", shop, "explain", "pipelines/orders.yml").exit_code == 0
    assert layout.default_layout().state_dir == tmp_path / "state"


def test_its_settings_name_other_folders(shop: Path) -> None:
    (shop / "slackwater.yml").write_text("pipelines: flows\nstate: ../state\nkafka: k.yml\n")
    (shop / "pipelines").rename(shop / "flows")
    assert command("--project", shop, "explain", "flows/orders.yml").exit_code == 0
    found = layout.default_layout()
    assert (found.state_dir, found.pipelines) == (shop.parent / "state", shop / "flows")
    assert os.environ["SLACKWATER_KAFKA_FILE"] == str(shop / "k.yml")


def test_its_plan_and_its_pipeline_are_valid(shop: Path) -> None:
    plan = load_plan_with_lines(shop / "plans" / "crash.yml")[0]
    assert (shop / "plans" / str(plan.workload.events)).resolve() == shop / "data" / "events.jsonl"
    pipeline = load_pipeline((shop / "plans" / plan.pipeline).resolve())
    assert {query.name for query in pipeline.of(Query)} == {"revenue", "visits"}


def test_its_ci_file_runs_what_the_project_has(shop: Path) -> None:
    text = (shop / ".github" / "workflows" / "ci.yml").read_text()
    (job,) = yaml.safe_load(text)["jobs"].values()
    lines = [step["run"] for step in job["steps"] if "run" in step]
    assert lines[0] == "pip install -r requirements.txt"
    named = [Path(word) for line in lines for word in line.split() if "/" in word or "." in word]
    assert named
    assert [name for name in named if not (shop / name).exists()] == []


def test_its_requirements_name_todays_version(shop: Path) -> None:
    version = importlib.metadata.version("slackwater")
    (line,) = (
        line
        for line in (shop / "requirements.txt").read_text().splitlines()
        if not line.startswith("#")
    )
    assert line == f"./wheels/slackwater-{version}-py3-none-any.whl[test]"


def test_its_own_modules_are_found_here_and_by_jobs(shop: Path) -> None:
    """A class of the user's in a pipeline file, without a word about PYTHONPATH."""
    (shop / "src").mkdir()
    (shop / "src" / "of_the_shop.py").write_text(SPREAD)
    file = shop / "pipelines" / "orders.yml"
    text = file.read_text().replace(
        "largest: max(cents)", "spread: 'python:of_the_shop:Spread(cents)'"
    )
    file.write_text(text)
    ran = command("--project", shop, "run", "pipelines/orders.yml", *EVENTS)
    assert ran.exit_code == 0, ran.output
    assert '"spread":' in (shop / "out.jsonl").read_text()
    ours, users = shared_environment(layout.default_layout())["PYTHONPATH"].split(os.pathsep)
    assert (ours, users) == (str(layout.ROOT), str(shop / "src"))


SPREAD = """
class Spread:
    returns = "int"

    def init(self):
        return []

    def update(self, state, value):
        return self.merge(state, [value, value])

    def merge(self, left, right):
        seen = [*left, *right]
        return [min(seen), max(seen)] if seen else []

    def result(self, state):
        return state[1] - state[0] if state else None
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("piplines: x", "'piplines' is not a key: it knows pipelines, plans, python, state, kafka"),
        ("state: 7", "state: Input should be a valid string, and not 7"),
        ("- a", "must hold keys and values"),
        ("a: [", "is not YAML"),
    ],
)
def test_a_wrong_setting_is_named(shop: Path, text: str, said: str) -> None:
    (shop / "slackwater.yml").write_text(text)
    found = command("--project", shop, "validate", "pipelines/orders.yml")
    assert found.exit_code != 0
    assert said in str(found.exception)


def test_a_project_of_another_user_is_not_entered_unasked(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in /tmp, say: its settings name where state goes, and modules that are imported."""
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    monkeypatch.chdir(shop / "data")
    refused = command("explain", "../pipelines/orders.yml")
    assert "belongs to another user: if you trust what is there" in str(refused.exception)
    named = command("--project", shop, "explain", "pipelines/orders.yml")
    assert named.exit_code == 0, named.output


def test_a_folder_that_is_no_project_is_named(tmp_path: Path) -> None:
    found = command("--project", tmp_path, "validate", "x.yml")
    assert f"{tmp_path} is not a project: slackwater.yml cannot be read" in str(found.exception)


def test_an_installed_package_keeps_nothing_beside_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "PACKAGED", True)
    with pytest.raises(InfraError, match=r"there is no slackwater\.yml here or in a folder above"):
        layout.default_layout()
