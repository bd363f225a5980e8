"""Fixtures for tests of one's own pipelines: a stack, and what can befall a job on it.

Pytest finds them by the entry point `chaos.pytest_plugin`. They import nothing before a test asks
for them, so that other tests do not wait for Kafka's and Spark's clients.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from chaos.job_under_test import JobUnderTest
    from chaos.simulator.simulate import SimulationReport
    from infra.endpoints import Endpoints


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that repeat a run, and that keep its report."""
    group = parser.getgroup("slackwater")
    group.addoption("--chaos-seed", type=int, default=1, help="Of victims, and of simulated runs.")
    group.addoption(
        "--chaos-report",
        type=Path,
        metavar="DIR",
        help="For a report of each job, in a folder named after its test.",
    )


@pytest.fixture(scope="session")
def slackwater_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoints]:
    """Where a Kafka and a Spark cluster of this test session answer; stopped at its end."""
    from infra import stack
    from infra.layout import Layout

    layout = Layout(tmp_path_factory.mktemp("slackwater"))
    try:
        yield stack.up(only=["kafka", "spark"], layout=layout)
    finally:
        stack.down(layout=layout)


@pytest.fixture
def chaos(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Chaos]:
    """Attacks on a pipeline of one's own: simulated, or on the real stack."""
    found = Chaos(request, tmp_path)
    yield found
    found.stop()


class Chaos:
    """What the fixture `chaos` gives.

    Args:
        request: of the test.
        folder: for what a failure leaves behind.
    """

    def __init__(self, request: pytest.FixtureRequest, folder: Path) -> None:
        self._request, self._folder = request, folder
        self._jobs: list[JobUnderTest] = []

    @property
    def seed(self) -> int:
        """What `--chaos-seed` says."""
        return int(self._request.config.getoption("--chaos-seed"))

    def simulate(self, pipeline: str | Path, *, runs: int = 100) -> SimulationReport:
        """Run a pipeline on random logs through simulated crashes; needs no stack.

        Args:
            pipeline: the pipeline file.
            runs: how many runs, each with another log and other faults.
        """
        from chaos.simulator.simulate import simulate
        from windowing.model import load_pipeline

        text = load_pipeline(pipeline).text
        return simulate(runs, self.seed, pipeline_text=text, keep=self._folder)

    def job(
        self, pipeline: str | Path, events: str | Path, *, max_offsets: int = 500
    ) -> JobUnderTest:
        """Run a pipeline over a file of events on the real stack, ready to be hurt.

        When it is finished, its report stands in `job.report`: the page of `slackwater chaos run`.

        Args:
            pipeline: the pipeline file.
            events: its log, EVENTS.jsonl or a value a line; sent to a topic of the job's own.
            max_offsets: offsets per batch; few enough that the job lives long enough.
        """
        from chaos.job_under_test import JobUnderTest
        from infra.layout import Layout

        endpoints: Endpoints = self._request.getfixturevalue("slackwater_stack")
        job = JobUnderTest(
            Path(pipeline),
            Path(events),
            Layout(endpoints.state_dir),
            self._report_folder(),
            max_offsets=max_offsets,
            seed=self.seed,
            name=self._name,
            command=f"pytest {self._request.node.nodeid} --chaos-seed {self.seed}",
        )
        self._jobs.append(job)
        job.begin()
        return job

    @property
    def _name(self) -> str:
        """The test's name, as a plan's."""
        return re.sub(r"[^A-Za-z0-9_.-]", "_", self._request.node.name)[:90]

    def _report_folder(self) -> Path:
        """Where the report of the next job goes: below the folder asked for, or the test's own."""
        asked: Path | None = self._request.config.getoption("--chaos-report")
        number = f"-{len(self._jobs) + 1}" if self._jobs else ""
        return (asked or self._folder) / f"{self._name}{number}"

    def stop(self) -> None:
        """End all jobs of this test."""
        for job in self._jobs:
            job.stop()
