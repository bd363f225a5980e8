"""What the composed stack gives to whom: the least, and secrets by files."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from infra.containers import boxes
from infra.containers.session import PIDS_MAX
from infra.layout import ROOT

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
