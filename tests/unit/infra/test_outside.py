"""What a person is asked to open: by the names that hold where the person sits, no secret in it."""

from pathlib import Path

import pytest
import yaml

from infra import airflow, outside
from infra.endpoints import Endpoints
from infra.layout import ROOT, Layout


@pytest.fixture
def endpoints(tmp_path: Path) -> Endpoints:
    inner = ("kafka:9092", "", "", "http://spark-master:8080", "http://airflow-api-server:8080")
    return Endpoints(*inner, "admin", "s3cret", tmp_path, "")


def described(endpoints: Endpoints) -> list[str]:
    return [
        outside.kafka(endpoints),
        outside.spark_ui(endpoints),
        outside.airflow_url(endpoints),
        outside.login(endpoints),
        outside.path(endpoints.state_dir / "tables"),
    ]


def test_the_local_stack_is_described_as_it_is(endpoints: Endpoints, tmp_path: Path) -> None:
    place = airflow.passwords_file(Layout(tmp_path))
    assert described(endpoints) == [
        endpoints.kafka_bootstrap,
        endpoints.spark_ui,
        endpoints.airflow_url,
        f"admin, password: see {place}",
        str(tmp_path / "tables"),
    ]


def test_of_a_stack_elsewhere_the_password_is_where_the_environment_says(
    endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACKWATER_KAFKA", "kafka:9092")
    asked = "admin, password: see $SLACKWATER_AIRFLOW_PASSWORD_FILE"
    assert outside.login(endpoints) == asked
    monkeypatch.setenv("SLACKWATER_AIRFLOW_PASSWORD_FILE", "/etc/airflow/password")
    assert outside.login(endpoints) == "admin, password: see /etc/airflow/password"


def test_the_composed_stack_is_described_by_what_its_host_calls_it(
    endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the very file, with `${PORT:-DEFAULT}` and `$$` as Compose reads them."""
    composed = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    for service in ("demo", "airflow-scheduler"):  # where commands are run
        environment = composed["services"][service]["environment"]
        given = {name: text for name, text in environment.items() if "OUTSIDE" in name}
        assert len(given) == 5
    monkeypatch.setenv("SLACKWATER_KAFKA", "kafka:9092")
    for name, text in given.items():
        port = text[text.index(":-") + 2 : -1] if "${" in text else ""
        monkeypatch.setenv(name, f"{text.partition('${')[0]}{port}".replace("$$", "$"))
    master = '"$(docker ps -qf label=com.docker.compose.service=spark-master)"'
    assert described(endpoints) == [
        "127.0.0.1:9094",
        "http://127.0.0.1:8090",
        "http://127.0.0.1:8080",
        "admin, password: see .secrets/airflow_password",
        f"docker cp {master}:{endpoints.state_dir}/tables .",
    ]


def test_what_is_absent_is_not_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (outside.KAFKA, outside.SPARK_UI, outside.AIRFLOW):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    nothing = Endpoints("", "", "", "", "", "admin", "", tmp_path, "")
    assert described(nothing)[:3] == ["", "", ""]
