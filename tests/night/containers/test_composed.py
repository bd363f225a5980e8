"""The composed stack: from nothing to all healthy, the flights end to end, and what people see.

`docker compose` is used where it is there, else `docker-compose` of version 1.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import httpx
import pytest
from docker.models.containers import Container
from selenium import webdriver

from infra.airflow import USER
from infra.containers.stack import build
from infra.layout import ROOT
from infra.ports import free_port
from tests.stack.ui.conftest import SCREENSHOTS, browser, log_in_at, shows  # noqa: F401 - a fixture

PROJECT = "slackwater-test"
HEALTHY_S, DEMO_S = 600.0, 1800.0


@dataclass(frozen=True)
class Composed:
    """The running stack: its variables, and how long it took to get well."""

    environment: dict[str, str]
    seconds: float

    @property
    def airflow(self) -> str:
        return f"http://127.0.0.1:{self.environment['AIRFLOW_PORT']}"


def command() -> list[str]:
    """Compose: version 2 where it is there, else 1."""
    newer = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    return ["docker", "compose"] if newer.returncode == 0 else ["docker-compose"]


def compose(*arguments: str, environment: dict[str, str]) -> str:
    """Run Compose on the stack; gives what it said."""
    done = subprocess.run(
        [*command(), "-p", PROJECT, *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEMO_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def services() -> dict[str, Container]:
    """The containers of the stack, by their services."""
    label = f"com.docker.compose.project={PROJECT}"
    with closing(docker.from_env()) as client:
        found = client.containers.list(all=True, filters={"label": label})
    return {one.labels["com.docker.compose.service"]: one for one in found}


def memory_mib(container: Container) -> int:
    """What `docker stats` shows: without the files that are kept in memory for speed alone."""
    facts = container.stats(stream=False)["memory_stats"]
    kept = facts["stats"]
    used = facts["usage"] - kept.get("total_inactive_file", kept.get("inactive_file", 0))
    return int(used) >> 20


def is_well(container: Container) -> bool:
    state = container.attrs["State"]
    if "Health" in state:
        return bool(state["Health"]["Status"] == "healthy")
    return bool(state["Status"] == "exited" and state["ExitCode"] == 0)


@pytest.fixture(scope="module")
def composed(docker_engine: None) -> Iterator[Composed]:
    build(("kafka", "postgres", "prometheus", "spark", "airflow"), print)
    names = ("KAFKA_PORT", "SPARK_PORT", "AIRFLOW_PORT", "POSTGRES_PORT", "PROMETHEUS_PORT")
    environment = {name: str(free_port()) for name in names}
    began = time.monotonic()
    try:
        compose("up", "-d", environment=environment)
        while not all(is_well(one) for one in services().values()):
            assert time.monotonic() < began + HEALTHY_S, "not all services are well"
            time.sleep(1)
        yield Composed(environment, time.monotonic() - began)
    finally:
        compose("--profile", "demo", "down", "-v", environment=environment)


def test_all_get_well_and_the_flights_are_proved(composed: Composed) -> None:
    found = services()
    assert len(found) == 11, sorted(found)
    report = {
        "compose": subprocess.check_output([*command(), "version"], text=True).splitlines()[0],
        "seconds": round(composed.seconds),
        "memory_mib": {
            name: memory_mib(one) for name, one in sorted(found.items()) if one.status == "running"
        },
    }
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    (SCREENSHOTS / "composed.json").write_text(json.dumps(report, indent=2))
    arguments = ("--profile", "demo", "run", "--rm", "-T", "demo")
    told = compose(*arguments, environment=composed.environment)
    (SCREENSHOTS / "composed_demo.txt").write_text(told)
    assert "proved: lost 0, duplicated 0, differing 0" in told


def test_prometheus_has_found_the_driver_of_the_demo(composed: Composed) -> None:
    base = f"http://127.0.0.1:{composed.environment['PROMETHEUS_PORT']}/api/v1/query"
    asked = {"query": "sum by (pipeline) (slackwater_lane_offset)"}
    with httpx.Client(trust_env=False) as client:
        found = client.get(base, params=asked).json()["data"]["result"]
    by_pipeline = {one["metric"]["pipeline"]: float(one["value"][1]) for one in found}
    assert by_pipeline["flight_delays"] >= 336_776


def test_what_the_demo_ends_with_can_be_opened_here(composed: Composed, tmp_path: Path) -> None:
    places = told_places((SCREENSHOTS / "composed_demo.txt").read_text(encoding="utf-8"))
    user, _, file = places["login"].partition(", password: see ")
    assert user == USER
    password = (ROOT / file).read_text(encoding="utf-8")
    with httpx.Client(trust_env=False, follow_redirects=True) as client:
        token = client.post(
            f"{composed.airflow}/auth/token", json={"username": USER, "password": password}
        )
        assert token.is_success, token.text
        for name in ("Airflow", "Spark", "Data Docs"):
            assert places[name].startswith("http://127.0.0.1:"), places
            assert client.get(places[name]).is_success, places[name]
    for name, found in (("tables", "flight_delays"), ("plot", "flight_delays.png")):
        subprocess.run(["sh", "-c", places[name]], cwd=tmp_path, check=True)
        assert (tmp_path / found).exists(), places[name]


def told_places(told: str) -> dict[str, str]:
    """What stands behind each label of the summary's last lines."""
    labels = ("Airflow", "login", "Spark", "tables", "Data Docs", "plot")
    lines = [line.rstrip() for line in told.splitlines()]
    return {
        label: line[14:] for line in lines for label in labels if line.startswith(f"{label:<14}")
    }


def test_no_secret_shows_to_who_inspects_and_no_container_can_do_more(composed: Composed) -> None:
    secrets = [file.read_text(encoding="utf-8") for file in (ROOT / ".secrets").iterdir()]
    assert len(secrets) == 6
    for name, one in services().items():
        assert not any(secret in json.dumps(one.attrs) for secret in secrets), name
        if one.status == "running":
            look = "grep -E 'CapEff|NoNewPrivs' /proc/1/status; touch /opt/x 2>&1 || true"
            inside = ("exec", "-T", name, "sh", "-c", look)
            rights, privileges, touched = compose(
                *inside, environment=composed.environment
            ).splitlines()
            assert rights.split() == ["CapEff:", "0000000000000000"], name
            assert privileges.split() == ["NoNewPrivs:", "1"], name
            assert "Read-only" in touched, name


def test_the_run_is_green_in_the_browser(
    composed: Composed,
    browser: webdriver.Chrome,
) -> None:
    password = (ROOT / ".secrets" / "airflow_password").read_text(encoding="utf-8")
    log_in_at(browser, composed.airflow, USER, password)
    browser.get(f"{composed.airflow}/dags/flight_delays/runs")
    shows(browser, "Success")
    browser.save_screenshot(str(SCREENSHOTS / "composed_airflow.png"))


def test_rows_in_the_composed_postgres_are_those_of_the_definition(composed: Composed) -> None:
    """A run of its own over the published flights, by the commands that people use.

    The job of the demo goes on and leaves no room for it: that is said, and it runs when it may.
    """

    def slackwater(*arguments: str) -> str:
        inside = ("exec", "-T", "airflow-scheduler", "slackwater", *arguments)
        return compose(*inside, environment=composed.environment)

    file = "/state/delays.yml"  # where driver and executors see it too
    renamed = r"s/^name: .*/name: delays/; s/^sink: .*/sink: {postgres: delays}/"
    shell = f"sed '{renamed}' pipelines/flight_delays.yml > {file}"
    compose("exec", "-T", "airflow-scheduler", "sh", "-c", shell, environment=composed.environment)
    slackwater("topics", file)
    slackwater("produce")
    slackwater("submit", file, "--run", "first", "--available-now", "--max-offsets", "60000")
    until_s = time.monotonic() + DEMO_S

    def await_that(condition: Callable[[dict[str, Any]], bool]) -> None:
        while not condition(
            told := progressed(slackwater("progress", file, "--run", "first", "--json"))
        ):
            assert not told["error"], told
            assert time.monotonic() < until_s, told
            time.sleep(2)

    await_that(lambda told: told["state"] == "WAITING")
    slackwater("stop", "pipelines/flight_delays.yml")
    await_that(lambda told: bool(told["done"]))
    verdict = slackwater("verify", file, "--run", "first", "--postgres", "--topic")
    assert "lost 0, duplicated 0, differing 0" in verdict


def progressed(told: str) -> dict[str, Any]:
    """What a command says in its last line, after Compose's own."""
    found: dict[str, Any] = json.loads(told.splitlines()[-1])
    return found
