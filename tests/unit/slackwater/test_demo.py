"""How the demo ends, for whoever sits in front of it: composed, and on this machine."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from infra import outside
from infra.endpoints import Endpoints
from infra.layout import ROOT
from slackwater.demo import Demo
from windowing.model import load_pipeline

INNER = Endpoints(
    "kafka:9092",
    "spark://spark-master:7077",
    "http://spark-master:6066",
    "http://spark-master:8080",
    "http://airflow-api-server:8080",
    "admin",
    "s3cret",
    Path("/state"),
    "",
)


def end_of_demo(endpoints: Endpoints) -> str:
    said = io.StringIO()
    demo = Demo(1000, Console(file=said, width=60))
    pipeline = load_pipeline(ROOT / "pipelines/flight_delays.yml")
    tables = endpoints.state_dir / "tables" / pipeline.output
    demo._places(pipeline, endpoints, tables, endpoints.state_dir / "flight_delays.png")
    return said.getvalue()


def as_composed(monkeypatch: pytest.MonkeyPatch, ports: dict[str, str]) -> None:
    """The environment of the service `demo`, by the very file, as Compose fills it in."""
    composed = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    for name, text in composed["services"]["demo"]["environment"].items():
        filled = text
        for port, number in ports.items():
            before, _, rest = filled.partition(f"${{{port}:-")
            filled = before + (number + rest.partition("}")[2] if rest else "")
        monkeypatch.setenv(name, filled.replace("$$", "$"))


def test_the_composed_demo_ends_with_what_its_host_can_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    as_composed(monkeypatch, {"KAFKA_PORT": "1", "SPARK_PORT": "8091", "AIRFLOW_PORT": "8081"})
    said = end_of_demo(INNER)
    page = "http://127.0.0.1:8081/dags/flight_delays"
    master = '"$(docker ps -qf label=com.docker.compose.service=spark-master)"'
    assert said.splitlines()[:7] == [
        f"Airflow       {page}",
        "login         admin, password: see .secrets/airflow_password",
        "Spark         http://127.0.0.1:8091",
        f"tables        docker cp {master}:/state/tables/flight_delays .",
        f"page          {page}/plugin/pipeline",
        f"Data Docs     {page}/plugin/data-docs",
        f"plot          docker cp {master}:/state/flight_delays.png .",
    ]
    for inner in ("airflow-api-server", "spark-master:", "kafka:9092", "s3cret", "$SLACKWATER"):
        assert inner not in said


def test_the_local_demo_ends_with_what_is_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in (outside.AIRFLOW, outside.SPARK_UI, outside.FETCH, outside.AIRFLOW_PASSWORD_FILE):
        monkeypatch.delenv(name, raising=False)
    local = Endpoints(
        "127.0.0.1:9",
        "",
        "",
        "http://127.0.0.1:8",
        "http://127.0.0.1:7",
        "admin",
        "s3cret",
        tmp_path,
        "",
    )
    said = end_of_demo(local)
    assert "Airflow       http://127.0.0.1:7/dags/flight_delays\n" in said
    assert f"tables        {tmp_path}/tables/flight_delays\n" in said
    assert "s3cret" not in said
