"""What commands say of a log, whatever they make of it: times, redelivered lines."""

from __future__ import annotations

from pathlib import Path

from tests.unit.slackwater.pipelines import EVENTS, written
from tests.unit.slackwater.test_run import command


def test_verify_says_of_a_log_what_run_says(tmp_path: Path) -> None:
    pipeline, events = written(tmp_path, [*EVENTS, EVENTS[0], EVENTS[3]])
    out = tmp_path / "out.jsonl"
    ran = command("run", pipeline, "--input", events, "--output", out)
    judged = command("verify", pipeline, "--input", events, "--output", out)
    assert (ran.exit_code, judged.exit_code) == (0, 0), judged.output
    of_log = [
        line
        for line in ran.stderr.splitlines()
        if line.startswith("note: ") and ("implausible" in line or "redeliveries" in line)
    ]
    assert len(of_log) == 2, ran.stderr
    assert [line for line in of_log if line not in judged.stderr.splitlines()] == []
