"""The package as a user gets it: `pip install`, in a fresh environment, far from the checkout."""

from __future__ import annotations

import ast
import itertools
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.stack.packaging.environment import ROOT, UV, Environment, build_wheel, make

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
ROOMS = {"chaos", "conformance", "dags", "infra", "jobs", "slackwater", "windowing"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """What `pip install slackwater[test]` gives."""
    return make(tmp_path_factory.mktemp("fresh") / "env", wheel, frozenset({"test"}))


def test_a_wheel_takes_no_common_name(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"slackwater", "windowing"}
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]
    platform = "slackwater/_platform"
    assert {
        f"{platform}/dags/pipelines.py",
        f"{platform}/infra/requirements/airflow.txt",
        f"{platform}/infra/jvm/jars.sha256",
        f"{platform}/infra/jvm/local-files/core-site.xml",
        f"{platform}/jobs/pipeline.py",
        "slackwater/template/dot-gitignore",
        "slackwater/template/data/events.jsonl",
    } <= set(names)


def test_a_fresh_environment_has_the_local_commands(installed: Environment, tmp_path: Path) -> None:
    """L5: a project is made, run and verified by what `pip install` gives, without Spark."""
    command, shop = installed.folder / "bin" / "slackwater", tmp_path / "shop"
    assert "Usage" in installed.run(command, "--help", cwd=tmp_path).stdout
    made = installed.run(command, "init", shop, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    events = ("--input", "data/events.jsonl", "--output", "out.jsonl")
    for line, said in (
        (("validate", "pipelines/orders.yml"), "is valid"),
        (("explain", "pipelines/orders.yml"), "sliding over placed_at"),
        (("run", "pipelines/orders.yml", *events), "dead 2"),
        (("verify", "pipelines/orders.yml", *events), "lost 0, duplicated 0, differing 0"),
    ):
        ran = installed.run(command, *line, cwd=shop)
        assert ran.returncode == 0, f"{line[0]}: {ran.stderr}"
        assert said in ran.stdout


def test_what_is_not_installed_is_said_in_a_sentence(
    installed: Environment, tmp_path: Path
) -> None:
    command = installed.folder / "bin" / "slackwater"
    outside = installed.run(command, "up", "kafka", cwd=tmp_path)
    assert (outside.returncode, outside.stderr.count("\n")) == (1, 1)
    assert "there is no slackwater.yml here" in outside.stderr
    installed.run(command, "init", tmp_path / "shop", cwd=tmp_path)
    spark = installed.run(
        command,
        *("run", "pipelines/orders.yml", "--input", "data/events.jsonl", "--output", "o.jsonl"),
        *("--engine", "spark"),
        cwd=tmp_path / "shop",
    )
    assert spark.returncode == 1
    assert "pip install 'slackwater[platform]'" in spark.stderr
    stack = installed.run(command, "up", cwd=tmp_path / "shop")
    assert stack.returncode == 1
    for sentence in (
        "Kafka is not installed in ",
        "Spark is not installed in ",
        "Airflow is not installed in ",
    ):
        assert sentence in stack.stderr
    found = installed.run(command, "doctor", cwd=tmp_path / "shop")
    assert found.returncode == 1
    assert "run `slackwater setup`" in found.stdout
    assert not (installed.packages / "slackwater" / "_platform" / ".slackwater").exists()


def test_the_projects_own_tests_pass(installed: Environment, tmp_path: Path) -> None:
    """As the project's CI file runs them; pytest finds the fixtures by the entry point."""
    installed.run(installed.folder / "bin" / "slackwater", "init", tmp_path / "shop", cwd=tmp_path)
    python = installed.folder / "bin" / "python"
    ran = installed.run(python, "-m", "pytest", "-q", "tests", cwd=tmp_path / "shop")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "4 passed" in ran.stdout


def test_the_projects_ci_installs_the_wheel_beside_it(
    installed: Environment, wheel: Path, tmp_path: Path
) -> None:
    """By its path, so that nobody else's package of the name is ever taken."""
    installed.run(installed.folder / "bin" / "slackwater", "init", tmp_path / "shop", cwd=tmp_path)
    (tmp_path / "shop" / "wheels").mkdir()
    (tmp_path / "shop" / "wheels" / wheel.name).symlink_to(wheel)
    line = [UV, "pip", "install", "--dry-run", "--offline", "--no-deps", "--reinstall"]
    line += ["--python", installed.folder / "bin" / "python", "-r", "requirements.txt"]
    ran = installed.run(*line, cwd=tmp_path / "shop")
    assert ran.returncode == 0, ran.stderr
    assert "Would install 1 package" in ran.stderr


def test_a_module_called_like_one_of_ours_is_named(installed: Environment, tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text("")
    command = installed.folder / "bin" / "slackwater"
    ran = installed.run(command, "--help", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert ran.returncode == 2
    assert f"{tmp_path / 'jobs.py'} is called like a part of this command" in ran.stderr


def test_every_package_that_is_imported_is_declared() -> None:
    texts = [*PROJECT["project"]["dependencies"], *itertools.chain(*EXTRAS.values())]
    wanted = {Requirement(text).name for text in texts} - {"slackwater"}
    declared = {
        file.parts[0].removesuffix(".py") for name in wanted for file in metadata.files(name) or []
    }
    # Named below what needs them, and only by users of containers (infra/containers).
    used = {
        module
        for room in ROOMS - {"dags"}
        for path in (ROOT / room).rglob("*.py")
        for module in _imports(path)
        if module not in sys.stdlib_module_names and module not in ROOMS
    }
    # Flink has an environment of its own (make setup-flink).
    assert used - declared == {"testcontainers", "pyflink"}


def test_declared_ranges_hold_what_is_locked() -> None:
    """What is tested is what is promised; and the back end is the one that is locked."""
    texts = [*PROJECT["project"]["dependencies"], *itertools.chain(*EXTRAS.values())]
    for text in [*texts, *PROJECT["build-system"]["requires"]]:
        requirement = Requirement(text)
        if requirement.name != "slackwater":
            assert requirement.specifier.contains(metadata.version(requirement.name)), text
    (backend,) = PROJECT["build-system"]["requires"]
    lock = (ROOT / "infra" / "requirements" / "main.txt").read_text(encoding="utf-8")
    assert f"\n{backend} " in lock


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
