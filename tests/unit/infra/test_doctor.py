"""What a machine lacks is said in sentences that say what to do; nothing is changed."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from infra import doctor
from infra.layout import Layout
from infra.stack import PARTS


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
