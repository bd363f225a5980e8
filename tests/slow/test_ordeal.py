"""The pytest fixtures on the real stack, as a user has them: a job of theirs is hurt and proved."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs import flights

pytest_plugins = ["pytester"]

PIPELINE = Path(__file__).parents[2] / "pipelines" / "flight_delays.yml"
TEST = f"""
import pytest
from chaos.ordeal import OrdealError


def test_my_pipeline_survives(chaos):
    job = chaos.job({str(PIPELINE)!r}, "events.jsonl", max_offsets=200)
    with pytest.raises(OrdealError, match="silent_partition cannot strike"):
        job.strike("silent_partition")
    assert job.strike("kill_executor") > 0
    assert job.strike("kill_python_worker") > 0
    verdict = job.finish()
    assert verdict.ok, "\\n".join(verdict.lines())
    assert verdict.rows.found > 100
"""


@pytest.mark.slow
@pytest.mark.stack
def test_a_job_of_a_user_is_hurt_and_proved(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(PIPELINE.parents[1]))
    flights.events_jsonl(pytester.path / "events.jsonl", flights.flights(2_000))
    pytester.makepyfile(TEST)
    result = pytester.runpytest_subprocess("-p", "chaos.pytest_plugin", timeout=900)
    result.assert_outcomes(passed=1)
