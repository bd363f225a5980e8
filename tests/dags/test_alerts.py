"""A task that failed calls the user's own callbacks; one that works calls none."""

import json
import sys

import pytest
from conftest import NOTIFIER, states
from test_deployment import deploy

from dags.operators.alerts import Alert, alerts


@pytest.fixture
def alarms(tmp_path, monkeypatch):
    """Gives what one of Airflow's notifiers, in a module of the user's, has noted."""
    (tmp_path / "my_alerts.py").write_text(NOTIFIER)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SLACKWATER_ALERTS", "my_alerts:notify")
    monkeypatch.delitem(sys.modules, "my_alerts", raising=False)

    def read() -> list[dict]:
        file = tmp_path / "alerts.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    return read


@pytest.mark.usefixtures("airflow_database", "pipelines")
def test_quality_that_fails_alarms_and_nothing_else(cluster, alarms):
    assert deploy().state == "success"
    assert alarms() == []
    cluster.script(fail={"quality": "2 of 9 expectations do not hold"})
    assert states(deploy())["quality"] == "failed"
    (one,) = alarms()
    assert (one["dag"], one["task"]) == ("flight_delays", "quality")
    assert "2 of 9 expectations do not hold" in one["why"]


@pytest.mark.usefixtures("airflow_database", "pipelines")
def test_a_callback_that_does_not_exist_costs_the_alert_only(cluster, monkeypatch):
    monkeypatch.setenv("SLACKWATER_ALERTS", "no_such_module:notify")
    cluster.script(fail={"quality": "2 of 9 expectations do not hold"})
    assert states(deploy())["quality"] == "failed"


def test_names_are_looked_up_when_they_are_called(monkeypatch):
    monkeypatch.setenv("SLACKWATER_ALERTS", " a:b, c:d ,")
    assert [one.name for one in alerts()] == ["a:b", "c:d"]
    monkeypatch.delenv("SLACKWATER_ALERTS")
    assert alerts() == []
    with pytest.raises(ValueError, match="'notify' names no callback: write module:object"):
        Alert("notify")({})
