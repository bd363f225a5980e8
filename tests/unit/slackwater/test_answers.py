"""The DAG tests' stand-in of the command answers as the command does: same keys, same types.

What the real commands print is made here by their own functions, of objects in which nothing that
may be null is null.
"""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from chaos.quality.results import QualityReport, QualityResult
from jobs.runs import Progress, Run
from jobs.runs.life import Life, State
from jobs.runs.overview import Overview
from jobs.runs.verdicts import Verdict
from slackwater import answers
from windowing.model import load_pipeline

ROOT = Path(__file__).resolve().parents[3]
STAND_IN = ROOT / "tests" / "dags" / "stand_in.py"
PIPELINE = ROOT / "pipelines" / "flight_delays.yml"
UI = "http://127.0.0.1:8090/app/?appId=app-1"
PLACE = Path("runs/r")
RUN = Run("flight_delays", "r", "driver-1", PLACE, PLACE, PLACE, PLACE, PLACE, datetime.now(UTC))


def real() -> dict[str, dict[str, Any]]:
    """What the real commands print."""
    verdict = Verdict("2026-11-22T10:00:00+00:00", passed=True, sentence="all hold")
    seen = Overview(
        run=RUN,
        life=Life(State.failed, "disk full"),
        live=True,
        restarts=1,
        file_differs=["queries.hourly: changed"],
        batches=1,
        behind=0,
        last_verify=verdict,
        last_quality=verdict,
        metrics="http://127.0.0.1:40123/metrics",
        ui=UI,
        log="work/driver-1",
    )
    far = Progress(State.failed, 1, {0: 7}, 3, "disk full", "work/driver-1", "disk full", 1)
    result = QualityResult("hourly", "exact windows", success=True, detail="none is missing")
    return {
        "submit": answers.submission(RUN, UI),
        "start": answers.submission(RUN, UI),
        "runs": seen.as_json(),
        "progress": answers.progress(far, load_pipeline(PIPELINE), UI),
        "quality": answers.quality(QualityReport(True, [result], PLACE, 42), "r"),
    }


@pytest.fixture
def stand_in(tmp_path: Path) -> Any:
    """Calls the stand-in; gives what it printed."""

    def call(*arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, str(STAND_IN), *arguments],
            env={"STAND_IN_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    return call


def differing(real: dict[str, Any], shown: dict[str, Any]) -> list[str]:
    """Keys that only one has, and values of another type; null is of every type."""
    keys = [f"{key}: only one has it" for key in real.keys() ^ shown.keys()]
    kinds = [
        f"{key}: {type(real[key]).__name__}, and the stand-in says {shown[key]!r}"
        for key in real.keys() & shown.keys()
        if shown[key] is not None and type(real[key]) is not type(shown[key])
    ]
    return keys + kinds


def test_the_stand_in_answers_in_the_words_of_the_commands(stand_in: Any) -> None:
    file, wanted = str(PIPELINE), real()
    shown = {
        "submit": stand_in("submit", file, "--run", "r"),
        "start": stand_in("start", file, "--run", "r"),
        "runs": stand_in("runs", file, "--json"),
        "progress": stand_in("progress", file, "--run", "r", "--json", "--until", '{"0": 9}'),
        "quality": stand_in("quality", file, "--run", "r", "--json"),
    }
    assert shown.keys() == wanted.keys()
    assert not [one for verb in wanted for one in differing(wanted[verb], shown[verb])]
    assert shown["runs"]["state"] in set(State)


def test_what_links_and_figures_are_made_of_is_printed() -> None:
    """The DAGs' links and the Asset's figures were empty once: no command printed these."""
    found = real()
    assert found["submit"]["ui"] == found["progress"]["ui"] == UI
    assert found["quality"]["data_docs"] == str(PLACE)
    assert found["quality"]["rows"] == 42


def test_a_difference_is_found() -> None:
    assert differing({"a": 1, "b": "x"}, {"a": 2, "b": None}) == []
    assert differing({"a": 1}, {"a": "1"}) == ["a: int, and the stand-in says '1'"]
    assert differing({"a": 1}, {}) == differing({}, {"a": 1}) == ["a: only one has it"]


def test_the_dags_use_no_option_that_a_command_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    from slackwater.main import app

    monkeypatch.setenv("STAND_IN_DIR", "")
    options = runpy.run_path(str(STAND_IN))["OPTIONS"]
    commands = get_command(app).commands  # type: ignore[attr-defined]
    for verb, used in options.items():
        below = getattr(commands[verb], "commands", {"": commands[verb]}).values()
        known = {option for one in below for spec in one.params for option in spec.opts}
        assert used <= known, f"{verb}: {used - known}"
