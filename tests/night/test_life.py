"""Runs in their user's hands, on a real cluster: the model of `tests/unit/life`.

Few steps, since each may take as long as a driver takes to start; more at night (`LIFE_STEPS`).
"""

from __future__ import annotations

from pathlib import Path

from infra import stack
from infra.layout import Layout
from jobs import runs
from jobs.runs.life import DEATHS_MAX, State
from jobs.runs.looking import life_of, look_at
from tests.stack.test_life import layout, submitted, until  # noqa: F401 - a fixture


def test_who_waits_is_told_for_whom_and_a_job_that_only_dies_has_failed(
    layout: Layout,
    tmp_path: Path,
) -> None:
    endpoints = stack.endpoints(layout=layout, only=["kafka", "spark"])
    first = submitted(endpoints, tmp_path, "first", "r1")
    until(lambda: life_of(endpoints, first).state is State.running)
    second = submitted(endpoints, tmp_path, "second", "r1")
    until(lambda: life_of(endpoints, second).state is State.waiting)
    why = str(life_of(endpoints, second).why)
    assert "run r1 of first has 5 cores" in why
    assert f"`slackwater stop {tmp_path / 'first.yml'} --run r1`" in why
    assert runs.stop_run(endpoints, first) == ["r1"]
    assert life_of(endpoints, first).state is State.stopped
    until(lambda: life_of(endpoints, second).state is State.running)
    runs.stop_all(endpoints, "second")

    # Spark cannot write its commits here, and says so in words of its own, every time.
    broken = tmp_path / "broken"
    folder = endpoints.state_dir / "runs" / "third" / "r1"
    (folder / "checkpoint").mkdir(parents=True)
    (folder / "checkpoint" / "commits").write_text("a file where a folder should be")
    broken.mkdir()
    third = submitted(endpoints, broken, "third", "r1")
    seen = set()

    def failed() -> bool:
        seen.add(state := life_of(endpoints, third).state)
        return state is State.failed

    until(failed, lambda: look_at(endpoints, third))
    assert State.running not in seen
    assert State.restarting in seen
    assert f"died {DEATHS_MAX} times without a batch" in str(life_of(endpoints, third).why)
    until(lambda: runs.living(endpoints, "third") == [])
    assert runs.progress(endpoints, third, {0: 100}).error
