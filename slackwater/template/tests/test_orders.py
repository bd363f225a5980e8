"""Tests of this project's pipeline on its own events; they need no broker and no Spark."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
PIPELINE = PROJECT / "pipelines" / "orders.yml"
EVENTS = PROJECT / "data" / "events.jsonl"


def slackwater(*arguments: object) -> str:
    """Run a command; return its output."""
    command = Path(sys.executable).with_name("slackwater")  # from the environment that runs pytest
    line = [str(command), "--project", str(PROJECT), *map(str, arguments)]
    ran = subprocess.run(line, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    return ran.stdout


@pytest.fixture(scope="session")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rows of the pipeline over its events."""
    rows = tmp_path_factory.mktemp("out") / "out.jsonl"
    slackwater("run", PIPELINE, "--input", EVENTS, "--output", rows)
    return rows


def test_the_rows_are_those_of_the_definition(output: Path) -> None:
    said = slackwater("verify", PIPELINE, "--input", EVENTS, "--output", output)
    assert said.splitlines()[-1] == "lost 0, duplicated 0, differing 0"


def test_batches_change_nothing(output: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    slackwater(
        *("run", PIPELINE, "--input", EVENTS, "--output", other),
        *("--batch-rows", 7, "--interleave", 3),
    )
    assert other.read_bytes() == output.read_bytes()


def test_every_window_of_the_morning_adds_up(output: Path) -> None:
    """Add your own tests: what must hold for the numbers, whatever the windows."""
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    revenue = [row for row in rows if row["query"] == "revenue"]
    assert {row["key"][0] for row in revenue} == {"Kiel", "Lund", "Oslo", "Turku"}
    assert all(row["values"]["largest"] <= row["values"]["cents"] for row in revenue)


def test_crashes_and_redeliveries_change_nothing(chaos) -> None:  # type: ignore[no-untyped-def]
    """Random logs and faults, simulated in this process by a fixture of Slackwater."""
    report = chaos.simulate(PIPELINE, runs=5)
    assert report.ok, "\n".join(report.lines())
