"""A project of the user's own in Airflow: its pipelines are DAGs, its plans the nightly ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from dags.entities import read_deployments, read_plans
from dags.operators import command

TEMPLATE = Path(__file__).parents[2] / "slackwater" / "template"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("pipelines", "plans"):
        (tmp_path / name).symlink_to(TEMPLATE / name)
        monkeypatch.setenv(f"SLACKWATER_{name.upper()}", str(tmp_path / name))
    monkeypatch.setenv("SLACKWATER_PROJECT", str(tmp_path))
    monkeypatch.setenv("SLACKWATER_ROOT", str(TEMPLATE.parents[1]))
    monkeypatch.delenv("SLACKWATER_COMMAND", raising=False)
    return tmp_path


def test_its_pipelines_are_dags(project: Path) -> None:
    found, broken = read_deployments(command.project_root(), command.pipelines_folder().absolute())
    assert not broken
    assert [one.name for one in found] == ["orders"]
    assert (project / found[0].file).is_file() or Path(found[0].file).is_file()


def test_its_plans_are_the_nightly_ones(project: Path) -> None:
    (plan,) = read_plans(command.project_root())
    assert plan == "plans/crash.yml"


def test_tasks_call_the_checkouts_command_in_it(project: Path) -> None:
    (line, *_) = command.command_line(["validate", "pipelines/orders.yml"])
    assert line == str(TEMPLATE.parents[1] / ".venv" / "bin" / "slackwater")
    assert command.project_root() == project


def test_the_command_of_an_installed_package_goes_before(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACKWATER_COMMAND", "'/opt/my env/bin/slackwater'")
    assert command.command_line(["up"]) == ["/opt/my env/bin/slackwater", "up"]
