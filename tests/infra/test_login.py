"""Where Airflow's password stands is told; what it is, is not."""

from pathlib import Path

import pytest

from infra import airflow
from infra.endpoints import Endpoints
from infra.layout import Layout


@pytest.fixture
def endpoints(tmp_path: Path) -> Endpoints:
    return Endpoints("", "", "", "", "http://127.0.0.1:8080", "admin", "s3cret", tmp_path, "")


def test_the_password_is_in_a_file_here(endpoints: Endpoints, tmp_path: Path) -> None:
    place = airflow.passwords_file(Layout(tmp_path))
    assert airflow.login(endpoints) == f"admin, password: see {place}"


def test_the_password_is_in_the_environment_elsewhere(
    endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACKWATER_KAFKA", "kafka:9092")
    assert airflow.login(endpoints) == "admin, password: see $SLACKWATER_AIRFLOW_PASSWORD_FILE"
