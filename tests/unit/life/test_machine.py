"""Runs in their user's hands, thousands of steps on a cluster that is pretended."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.unit.life.machine import BAD, Runs
from tests.unit.life.pretended import PretendedCluster


class OnAPretendedCluster(Runs):
    """A separate world for each example."""

    def __init__(self) -> None:
        super().__init__()
        self._temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self._temporary.name)
        self.world = PretendedCluster(self.folder / "state", BAD).__enter__()

    def teardown(self) -> None:
        super().teardown()
        self.world.__exit__()
        self._temporary.cleanup()


def test_never_two_drivers_never_a_lost_run_never_running_what_cannot() -> None:
    examples = max(settings().max_examples // 6, 1)  # each is a few hundred requests
    run_state_machine_as_test(
        OnAPretendedCluster,
        settings=settings(max_examples=examples, stateful_step_count=20, deadline=None),
    )
