"""A Kafka cluster of the user's: the local stack has no broker then, and its daemons no login."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra import airflow, stack
from infra.daemon import shared_environment
from infra.errors import InfraError
from infra.kafka_settings import PREFIX
from infra.layout import ROOT, STATE_DIR_VARIABLE, Layout

SECRET = "hunter2"  # noqa: S105 - invented


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """An empty state folder, and settings of a cluster that is not asked."""
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv(STATE_DIR_VARIABLE, str(tmp_path))
    monkeypatch.setenv(f"{PREFIX}BOOTSTRAP", "one:9093,two:9093")
    monkeypatch.setenv(f"{PREFIX}PASSWORD", SECRET)
    monkeypatch.setenv(f"{PREFIX}USERNAME", "tide")
    monkeypatch.setenv(f"{PREFIX}SASL_MECHANISM", "PLAIN")
    return Layout(tmp_path)


def test_no_broker_is_started_and_theirs_is_named(layout: Layout) -> None:
    assert stack.up(only=["kafka"]).kafka_bootstrap == "one:9093,two:9093"
    assert stack.endpoints(only=["kafka"]).kafka_bootstrap == "one:9093,two:9093"
    assert stack.status() == []


def test_the_rest_of_the_stack_is_still_ours(layout: Layout) -> None:
    with pytest.raises(InfraError, match="spark was not started"):
        stack.endpoints(only=["kafka", "spark"])


def test_a_stack_of_its_own_keeps_its_own_broker(layout: Layout) -> None:
    with pytest.raises(InfraError, match="kafka was not started"):
        stack.endpoints(only=["kafka"], layout=layout)


def test_only_airflow_gets_the_login(layout: Layout) -> None:
    assert SECRET not in shared_environment(layout).values()
    ports = dict.fromkeys(airflow.PORTS, 1)
    for daemon in airflow.component(layout, ports).daemons:
        assert SECRET in shared_environment(layout, daemon.keeps).values()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kafka: {sasl: {mechanism: PLAIN, username: u, password: hunter2}}", "holds a secret"),
        ("- 1", "must hold one key"),
        (None, "cannot be read"),
    ],
)
def test_wrong_settings_are_wrong_use(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "kafka.yml"
    if text is not None:
        file.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "slackwater.main", "--kafka", file, "stop", "p.yml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert SECRET not in done.stderr
    assert "Traceback" not in done.stderr
