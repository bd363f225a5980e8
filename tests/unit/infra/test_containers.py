"""Containers: what those of the composed stack may do, and the engine that runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.containers import boxes, engine
from infra.containers.session import PIDS_MAX
from infra.errors import InfraError
from infra.layout import ROOT, Layout
from infra.ports import free_port

COMPOSE = ROOT / "docker-compose.yml"
FILES = (COMPOSE, ROOT / "infra" / "images" / "three-brokers.yml")


def composed() -> dict[str, Any]:
    return dict(yaml.safe_load(COMPOSE.read_text(encoding="utf-8")))


def services() -> dict[str, dict[str, Any]]:
    return dict(composed()["services"])


@pytest.mark.parametrize("file", FILES, ids=lambda one: one.name)
def test_every_container_is_confined(file: Any) -> None:
    found = yaml.safe_load(file.read_text(encoding="utf-8"))["services"]
    whole = {name: one for name, one in found.items() if "image" in one}
    assert whole
    for name, one in whole.items():
        assert one["cap_drop"] == ["ALL"], name
        assert one["security_opt"] == ["no-new-privileges:true"], name
        assert one["read_only"] is True, name
        assert 0 < one["pids_limit"] <= PIDS_MAX, name
        assert "mem_limit" in one, name
        assert "privileged" not in one, name
        for port in one.get("ports", []):
            assert port.startswith("127.0.0.1:"), name


AIRFLOW = {"airflow-api-server", "airflow-scheduler", "airflow-triggerer", "demo"}
"""The services of Airflow that ask Kafka, Spark or the tables, or command them."""


def test_only_those_are_on_a_network_who_have_to_do_with_it() -> None:
    """All of them were on one: whatever ran in a job could talk to every part of Airflow."""
    on: dict[str, set[str]] = {}
    three = yaml.safe_load(FILES[1].read_text(encoding="utf-8"))["services"]
    brokers = {name: one for name, one in three.items() if "image" in one}
    for name, one in {**services(), **brokers}.items():
        for network in one["networks"]:  # without it, Compose puts it with all that have none
            on.setdefault(network, set()).add(name)
    airflow = {name for name in services() if name.startswith("airflow-")} | {"demo"}
    workers = {"spark-master", "spark-worker-1", "spark-worker-2"}
    jobs = {"kafka", "kafka-2", "kafka-3", "postgres", "prometheus"} | workers
    assert on == {"airflow": airflow | {"postgres"}, "jobs": jobs | AIRFLOW}
    assert set(composed()["networks"]) == set(on)
    # Each of its daemons binds to one address, and others find it by its name.
    assert all(services()[name]["networks"] == ["jobs"] for name in workers)


def test_what_containers_of_tests_may_is_what_composed_ones_may() -> None:
    """So that what a confined container cannot do without shows in `make test-containers`."""
    made = {"kafka": boxes.broker(port=1), "postgres": boxes.postgres(port=1)}
    for name, box in made.items():
        assert box.confined
        spelled = [f"{path}:{options}".rstrip(":") for path, options in box.tmpfs.items()]
        assert services()[name]["tmpfs"] == spelled
    three = yaml.safe_load(FILES[1].read_text(encoding="utf-8"))["services"]
    assert three["kafka-2"]["tmpfs"] == services()["kafka"]["tmpfs"]


def test_no_secret_is_in_an_environment() -> None:
    for name, one in services().items():
        for variable, value in one.get("environment", {}).items():
            is_file = variable.endswith(("_FILE", "PASSFILE"))
            assert is_file or not re.search("PASSWORD|SECRET|KEY|CONN$", variable), name
            assert "PASSWORD" not in str(value).upper() or is_file


def test_each_gets_the_secrets_that_it_needs() -> None:
    given = {name: set(one.get("secrets", ())) for name, one in services().items()}
    assert {name for name, one in given.items() if "postgres_airflow" in one} == {
        "postgres",
        *(name for name in given if name.startswith("airflow-")),
    }
    tables = {"postgres", "spark-worker-1", "spark-worker-2", "airflow-scheduler"}
    assert {name for name, one in given.items() if "postgres_slackwater" in one} == tables
    logins = {name for name, one in given.items() if "airflow_password" in one}
    assert logins == {"airflow-init", "demo"}
    assert set.union(*given.values()) == set(composed()["secrets"])


def test_jobs_do_not_see_airflows_folder() -> None:
    for name, one in services().items():
        mounts = [str(volume) for volume in one.get("volumes", [])]
        if name.startswith("spark"):
            assert not any("airflow" in mount for mount in mounts), name
    stage = (ROOT / "infra" / "images" / "Dockerfile").read_text(encoding="utf-8")
    assert "ENV AIRFLOW_HOME=/airflow" in stage


def test_the_base_is_named_by_whoever_builds() -> None:
    stage = (ROOT / "infra" / "images" / "Dockerfile").read_text(encoding="utf-8")
    assert "\nARG BASE\n" in stage
    assert re.search(r"RepoDigests", (ROOT / "infra" / "images" / "build").read_text())


def test_made_secrets_are_never_committed() -> None:
    assert ".secrets/" in (ROOT / ".gitignore").read_text().splitlines()
    assert ".secrets" not in (ROOT / ".dockerignore").read_text()
    assert (ROOT / ".dockerignore").read_text().splitlines()[1] == "*"


@pytest.fixture
def nobody_there(monkeypatch: pytest.MonkeyPatch) -> str:
    """An address at which no engine answers."""
    address = f"tcp://127.0.0.1:{free_port()}"
    monkeypatch.setenv("DOCKER_HOST", address)
    return address


def test_an_engine_that_is_named_and_does_not_answer_is_not_replaced(
    nobody_there: str, tmp_path: Path
) -> None:
    lines: list[str] = []
    assert engine.complaint().startswith(f"no Docker engine answers at {nobody_there} (")
    with pytest.raises(InfraError, match=f"DOCKER_HOST names {nobody_there}; start that one"):
        engine.bring_up(lines.append, Layout(tmp_path))
    assert lines == []
    assert list(tmp_path.iterdir()) == []


def test_only_root_starts_one(nobody_there: str, monkeypatch: pytest.MonkeyPatch) -> None:
    why = engine.complaint()
    monkeypatch.delenv("DOCKER_HOST")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert engine._refusal(why).startswith("that takes root")


def test_a_process_that_has_got_the_pid_of_ours_is_not_stopped(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert not engine.take_down(layout)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as other:
        pid_file = engine._pid_file(layout)
        pid_file.parent.mkdir(parents=True)
        pid_file.write_text(str(other.pid))
        assert not engine.take_down(layout)
        assert other.poll() is None
        other.kill()


def test_the_engine_that_was_started_with_the_pid_file_is_stopped(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    pid_file = engine._pid_file(layout)
    pid_file.parent.mkdir(parents=True)
    # Stands for dockerd: what matters is the file on its command line.
    command = [sys.executable, "-c", "import time; time.sleep(60)", "--pidfile", str(pid_file)]
    with subprocess.Popen(command) as ours:
        pid_file.write_text(str(ours.pid))
        until = time.monotonic() + 10
        while not engine._ours(layout):  # it must have become the command first
            assert time.monotonic() < until
            time.sleep(0.02)
        assert engine.take_down(layout)
        assert ours.wait(10) != 0


def test_one_that_has_ended_and_is_not_yet_waited_for_does_not_run(tmp_path: Path) -> None:
    def seen() -> bool:
        return ours.pid in {process.pid for process in engine._running()}

    program = tmp_path / "dockerd"
    program.symlink_to("/bin/cat")
    with subprocess.Popen([program], stdin=subprocess.PIPE) as ours:
        assert ours.stdin is not None
        until = time.monotonic() + 10
        while not seen():  # it must have become the command first
            assert time.monotonic() < until
            time.sleep(0.02)
        ours.stdin.close()
        os.waitid(os.P_PID, ours.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
        assert not seen()
