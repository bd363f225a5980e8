"""Setting up: what is installed, once, and what `doctor` says is missing."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from infra import doctor, jars, jvm, layout, setup
from infra.images import spark_start
from infra.layout import Layout
from infra.setup import SetupError, Step
from infra.stack import PARTS


def _program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole PATH, with Java 17, Maven and pip as far as one can ask them."""
    _program(tmp_path / "java", "echo 'openjdk version \"17.0.15\" 2025-04-15' >&2")
    _program(tmp_path / "mvn", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(setup, "find_spec", lambda name: name)  # the tests' own Python has no pip
    return tmp_path


def test_a_good_machine_passes(machine: Path) -> None:
    setup.check_machine(["uv", "jvm"])


def test_a_python_without_pip_is_one_sentence_and_a_hint(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an environment that uv has made."""
    monkeypatch.setattr(setup, "find_spec", lambda name: None)
    with pytest.raises(SetupError, match=r"has no pip: .*make PYTHON="):
        setup.check_machine(["uv"])
    setup.check_machine(["jvm"])  # as the image for Java does, on a Python of the distribution


def test_missing_java_is_one_sentence_and_a_hint(machine: Path) -> None:
    (machine / "java").unlink()
    with pytest.raises(SetupError, match=r"Java is missing: .* needs? 17 or newer\. Install a JDK"):
        setup.check_machine(["uv", "jvm"])


def test_java_home_without_java_is_missing_java(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(machine / "empty"))
    with pytest.raises(SetupError, match="Java is missing"):
        setup.check_machine(["uv", "jvm"])


@pytest.mark.parametrize(("said", "found"), [("1.8.0_402", "8"), ("11.0.2", "11"), ("16", "16")])
def test_old_java_is_named(machine: Path, said: str, found: str) -> None:
    _program(machine / "java", f"echo 'java version \"{said}\"' >&2")
    with pytest.raises(SetupError, match=f"Java {found} is too old"):
        setup.check_machine(["uv", "jvm"])


def test_java_home_wins_over_the_path(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _program(machine / "home" / "bin" / "java", "echo 'openjdk version \"21\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(machine / "home"))
    assert setup.java_version() == 21


def test_missing_maven_is_one_sentence_and_a_hint(machine: Path) -> None:
    (machine / "mvn").unlink()
    with pytest.raises(SetupError, match=r"Maven is missing: .* apt-get install maven"):
        setup.check_machine(["uv", "jvm"])
    setup.check_machine(["uv"])


# --- stamps ------------------------------------------------------------------------------------


class Kitchen:
    """Two small steps, the second built on the first, in their own folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runs: list[str] = []
        for name in ("base", "top"):
            (root / f"{name}.txt").write_text("1")

    def steps(self) -> tuple[Step, ...]:
        return (self._step("base", ()), self._step("top", ("base",)))

    def _step(self, name: str, after: tuple[str, ...]) -> Step:
        source, output = self.root / f"{name}.txt", self.root / f"{name}.out"

        def run(log: Path) -> None:
            self.runs.append(name)
            setup._run(["/bin/sh", "-c", f"echo working; . {source}"], log, cwd=self.root)
            output.touch()

        return Step(name, (source,), output, run, after)


@pytest.fixture
def kitchen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kitchen:
    kitchen = Kitchen(tmp_path)
    for name in ("base", "top"):
        (tmp_path / f"{name}.txt").write_text("true")
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    monkeypatch.setattr(setup, "STAMPS", tmp_path / "stamps")
    monkeypatch.setattr(setup, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(setup, "steps", kitchen.steps)
    return kitchen


def test_a_second_run_does_nothing(kitchen: Kitchen) -> None:
    said: list[str] = []
    assert setup.install(said.append) == 2
    assert kitchen.runs == ["base", "top"]
    assert [line for line in said if "done in" in line][-1].startswith("setup  top")
    assert setup.install(said.append) == 0
    assert kitchen.runs == ["base", "top"]


def test_what_stands_on_a_changed_step_runs_again(kitchen: Kitchen) -> None:
    setup.install(lambda line: None)
    (kitchen.root / "base.txt").write_text("true # newer")
    assert setup.install(lambda line: None) == 2
    (kitchen.root / "top.txt").write_text("true # newer")
    assert setup.install(lambda line: None) == 1


def test_only_what_is_named_runs(kitchen: Kitchen) -> None:
    assert setup.install(lambda line: None, only=["base"]) == 1
    assert kitchen.runs == ["base"]
    assert setup.install(lambda line: None, only=["top"]) == 1
    assert setup.install(lambda line: None) == 0


def test_what_was_deleted_is_made_again(kitchen: Kitchen) -> None:
    setup.install(lambda line: None)
    (kitchen.root / "top.out").unlink()
    assert setup.install(lambda line: None) == 1


def test_a_failed_step_shows_its_last_words_and_is_tried_again(kitchen: Kitchen) -> None:
    (kitchen.root / "top.txt").write_text("echo no such package >&2; exit 3")
    with pytest.raises(SetupError, match=r"sh ended with code 3[^$]*no such package"):
        setup.install(lambda line: None)
    assert kitchen.runs == ["base", "top"]
    with pytest.raises(SetupError):
        setup.install(lambda line: None)
    assert kitchen.runs == ["base", "top", "top"]


def test_the_lock_files_hold_versions_and_hashes_and_no_addresses() -> None:
    for name in setup.LOCKS:
        text = (setup.REQUIREMENTS / f"{name}.txt").read_text()
        pinned = [line for line in text.splitlines() if line and line[0] not in " #"]
        assert pinned
        assert all("==" in line and line.endswith("\\") for line in pinned)
        assert text.count("--hash=sha256:") >= len(pinned)
        assert "://" not in text


def test_every_jar_is_locked_and_another_one_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = layout.HOME / "jvm"
    assert jars.complaint(installed) == ""
    lines = jars.LOCK.read_text().splitlines()
    assert len(lines) == len(list(installed.glob("*/*.jar"))) > 90
    monkeypatch.setattr(setup, "HOME", tmp_path)
    first, last = sorted(installed.glob("*/*.jar"))[:: len(lines) - 1]

    def fetched(change: Callable[[Path], object]) -> str:
        """What the set-up says where Maven brings the jars, and one of them is changed."""

        def bring(command: list[str], log: Path) -> None:
            shutil.copytree(installed, tmp_path / "jvm.part")
            change(tmp_path / "jvm.part")

        monkeypatch.setattr(setup, "_run", bring)
        with pytest.raises(SetupError) as caught:
            setup._install_jars(tmp_path / "log")
        assert not (tmp_path / "jvm").exists()
        return str(caught.value)

    place, name = first.relative_to(installed), first.name
    said = fetched(lambda folder: (folder / place).write_bytes(b"PK evil"))
    assert f"{name} is not the jar that is locked (SHA-256 " in said
    assert f"{name} is locked and missing" in fetched(lambda folder: (folder / place).unlink())
    more = last.relative_to(installed).with_name("extra.jar")
    assert "extra.jar is not locked" in fetched(lambda folder: (folder / more).write_bytes(b""))


def test_what_builds_packages_is_locked_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(setup, "_run", lambda command, log: ran.append(command))
    setup._install_environment(tmp_path, tmp_path / "main.txt", tmp_path / "log")
    install = ran[-1]
    constraints = Path(install[install.index("--build-constraints") + 1])
    assert "setuptools==" in constraints.read_text()
    assert "--require-hashes" in install


def test_the_second_run_of_the_real_set_up_says_nothing() -> None:
    command = ["python3", "-m", "infra.setup"]
    for _ in range(2):
        done = subprocess.run(
            command, cwd=layout.ROOT, capture_output=True, text=True, timeout=900, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ""


def test_an_executor_in_a_pod_has_what_its_driver_tells_it_to_use() -> None:
    named = ("DRIVER_URL", "EXECUTOR_ID", "EXECUTOR_CORES", "APPLICATION_ID", "EXECUTOR_POD_IP")
    more = ("RESOURCE_PROFILE_ID", "EXECUTOR_POD_NAME", "EXECUTOR_MEMORY")
    given = {f"SPARK_{name}": "1" for name in (*named, *more)}
    arguments = spark_start._kubernetes_executor(given | {jvm.CLASS_PATH: "a:b"})
    assert arguments[arguments.index("-cp") + 1].endswith("/jars/*:a:b")


def test_a_missing_jar_is_a_note(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "local-files" in {one.name for one in doctor.examine() if one.verdict == "ok"}
    monkeypatch.setattr(doctor, "LOCAL_FILES_JARS", tmp_path)
    (found,) = (one for one in doctor.examine() if one.name == "local-files")
    assert found.verdict == "note"
    assert found.sentence.endswith("run `make setup`")


def found(name: str) -> doctor.Finding:
    return next(one for one in doctor.examine() if one.name == name)


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "default_layout", lambda: Layout(tmp_path / "state" / "deep"))


def test_this_machine_can_run_the_stack() -> None:
    """Whoever runs these tests has set it up; nothing was made by looking."""
    assert [one for one in doctor.examine() if one.verdict == "missing"] == []
    assert not doctor.default_layout().state_dir.parent.exists()


def test_missing_and_old_java_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "java_version", lambda: None)
    assert found("java").verdict == "missing"
    assert "install a JDK" in found("java").sentence
    monkeypatch.setattr(doctor, "java_version", lambda: 11)
    assert "Java 11" in found("java").sentence
    assert "set JAVA_HOME to 17 or newer" in found("java").sentence


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("BROKER_JARS", "CONNECTOR_JARS", "AIRFLOW_VENV"):
        monkeypatch.setattr(doctor, name, tmp_path / name)
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    for name in ("kafka", "connector", "airflow"):
        assert found(name).verdict == "missing"
        assert found(name).sentence.endswith("run `make setup`")
    assert "Maven is missing" in found("maven").sentence


def test_little_memory_and_disk_are_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = SimpleNamespace(available=1 << 30)
    monkeypatch.setattr(doctor.psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: SimpleNamespace(free=1 << 30))
    assert found("memory").verdict == found("disk").verdict == "note"
    assert found("memory").sentence.startswith("1.0 GiB of memory are free")


def test_a_port_that_another_program_has_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        monkeypatch.setattr(PARTS["airflow"], "PORTS", {"airflow": port})
        assert found("ports").verdict == "note"
        assert f"{port} (airflow)" in found("ports").sentence
