"""Runs in their user's hands, on a real cluster: who waits for whom.

Few steps, since each may take as long as a driver takes to start; more at night (`LIFE_STEPS`).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from chaos.errors import FaultDidNotApply
from chaos.faults.cluster import kill_driver
from infra import stack
from infra.endpoints import Endpoints
from infra.layout import Layout
from jobs import runs
from jobs.brokers.producing import send_all
from jobs.brokers.topics import create_topics
from jobs.runs.life import State
from jobs.runs.looking import life_of, look_at
from tests.unit.life.machine import FILE, GOOD, Runs
from windowing.model import load_pipeline

PATIENCE_S = float(os.environ.get("LIFE_PATIENCE_S", "300"))
STEPS = int(os.environ.get("LIFE_STEPS", "10"))
EXAMPLES = int(os.environ.get("LIFE_EXAMPLES", "3"))
"""The first one that Hypothesis draws is short."""


def until(true: Callable[[], object], what: Callable[[], object] = lambda: "") -> None:
    give_up = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < give_up, what()
        time.sleep(0.5)


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Layout]:
    """A small cluster: one job fills it."""
    layout = Layout(tmp_path_factory.mktemp("life") / "state")
    try:
        endpoints = stack.up(only=["kafka", "spark"], layout=layout)
        file = layout.state_dir.parent / "first.yml"
        file.write_text(FILE.format(name="first", topic=GOOD))
        create_topics(load_pipeline(file), endpoints.kafka_bootstrap)
        rows = [(0, json.dumps({"ts": ts * 10**6, "v": ts}).encode(), None) for ts in range(100)]
        send_all(endpoints.kafka_bootstrap, GOOD, rows)
        yield layout
    finally:
        stack.down(layout=layout)


class RealCluster:
    """The stack, and what is done to it."""

    def __init__(self, layout: Layout, machine: Runs) -> None:
        self.layout, self.machine = layout, machine
        self.endpoints = stack.endpoints(layout=layout, only=["kafka", "spark"])

    def settle(self) -> None:
        """Wait until every run is what it is to be; what it is meanwhile is looked at all along."""

        def settled() -> bool:
            self.machine.every_run_is_seen_as_what_it_may_be()
            seen = self.machine._states()
            return all(
                seen[run].life.state is known.settled
                for run, known in self.machine.expected.items()
            )

        until(settled, lambda: {run: one.life for run, one in self.machine._states().items()})

    def kill_a_driver(self) -> bool:
        try:
            kill_driver(self.layout)
        except FaultDidNotApply:
            return False
        return True


def test_the_model_holds_on_a_real_cluster(layout: Layout, tmp_path: Path) -> None:
    names = iter(range(10**6))

    class OnARealCluster(Runs):
        def __init__(self) -> None:
            super().__init__()
            number = next(names)
            self.folder = tmp_path / str(number)
            self.folder.mkdir()
            self.pipeline = f"tide{number}"
            self.world = RealCluster(layout, self)

    run_state_machine_as_test(
        OnARealCluster,
        settings=settings(
            stateful_step_count=STEPS,
            max_examples=EXAMPLES,
            # Found again and again, a fault would take hours to be made small.
            phases=[Phase.generate],
            deadline=None,
        ),
    )


def submitted(endpoints: Endpoints, folder: Path, name: str, run: str) -> runs.Run:
    file = folder / f"{name}.yml"
    file.write_text(FILE.format(name=name, topic=GOOD))
    return runs.submit(endpoints, load_pipeline(file), file, run)


def test_a_driver_that_never_comes_to_our_program_has_failed(
    layout: Layout, tmp_path: Path
) -> None:
    """As where a package is missing: only the driver's own output tells of it."""
    endpoints = stack.endpoints(layout=layout, only=["kafka", "spark"])
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "pipeline.py").write_text("import slackwater_lacks_it")
    nowhere = submitted(replace(endpoints, code=tmp_path), tmp_path, "nowhere", "r1")
    seen = set()

    def failed() -> bool:
        seen.add(state := life_of(endpoints, nowhere).state)
        return state is State.failed

    until(failed, lambda: look_at(endpoints, nowhere))
    assert State.running not in seen
    why = str(life_of(endpoints, nowhere).why)
    assert "was started 3 times and never came to our program: ModuleNotFoundError" in why
    assert "slackwater_lacks_it" in why
    assert runs.living(endpoints, "nowhere") == ["r1"], "the cluster goes on trying"
    assert runs.stop_run(endpoints, nowhere) == ["r1"]
    assert life_of(endpoints, nowhere).state is State.stopped
