"""`slackwater status`: every part of the stack on a line, and where it answers."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from infra import stack
from infra.stack import DaemonStatus
from slackwater.main import app


def test_a_part_that_is_dead_is_shown_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACKWATER_STATE_DIR", str(tmp_path))
    found = [
        DaemonStatus("kafka", "healthy", "", 4711, 300 * 2**20, 600.0, tmp_path / "kafka.log"),
        DaemonStatus("spark-master", "dead", "it ended", None, 0, 0.0, tmp_path / "master.log"),
    ]
    monkeypatch.setattr(stack, "status", lambda: found)
    shown = CliRunner().invoke(app, ["status"], env={"COLUMNS": "200"})
    assert shown.exit_code == 1
    for text in ("kafka", "4711", "300 MiB", "10 min", "spark-master: it ended", "Airflow -"):
        assert text in shown.output


def test_where_nothing_was_started_nothing_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACKWATER_STATE_DIR", str(tmp_path))
    shown = CliRunner().invoke(app, ["status"])
    assert shown.exit_code == 0, shown.output
