"""Pytest fixtures for users' own pipelines: a stack, and faults for a job on it.

Pytest finds them through the entry point `chaos.pytest_plugin`. They import lazily, so that other
tests do not wait for the clients of Kafka and Spark.
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
    """Add the options for the seed and for the folder of reports."""
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
    """Start Kafka and Spark for this test session; stop them at its end."""
    from infra import stack
    from infra.layout import Layout

    layout = Layout(tmp_path_factory.mktemp("slackwater"))
    try:
        yield stack.up(only=["kafka", "spark"], layout=layout)
    finally:
        stack.down(layout=layout)


@pytest.fixture
def chaos(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Chaos]:
    """Provide faults for a pipeline: simulated, or on the real stack."""
    found = Chaos(request, tmp_path)
    yield found
    found.stop()


class Chaos:
    """The value of the fixture `chaos`."""

    def __init__(self, request: pytest.FixtureRequest, folder: Path) -> None:
        self._request, self._folder = request, folder
        self._jobs: list[JobUnderTest] = []

    @property
    def seed(self) -> int:
        """The value of `--chaos-seed`."""
        return int(self._request.config.getoption("--chaos-seed"))

    def simulate(self, pipeline: str | Path, *, runs: int = 100) -> SimulationReport:
        """Run a pipeline on random logs through simulated crashes; needs no stack.

        Args:
            runs: number of runs, each with its own log and faults.
        """
        from chaos.simulator.simulate import simulate
        from windowing.model import load_pipeline

        text = load_pipeline(pipeline).text
        return simulate(runs, self.seed, pipeline_text=text, keep=self._folder)

    def job(
        self, pipeline: str | Path, events: str | Path, *, max_offsets: int = 500
    ) -> JobUnderTest:
        """Run a pipeline over a file of events on the real stack, ready for faults.

        Once it is finished, `job.report` is the path of its report, as of `slackwater chaos run`.

        Args:
            events: its log, EVENTS.jsonl or one value per line, sent to a topic of the job's own.
            max_offsets: offsets per batch; small enough that the job outlives the faults.
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
        return re.sub(r"[^A-Za-z0-9_.-]", "_", self._request.node.name)[:90]

    def _report_folder(self) -> Path:
        """Return the folder for the next job's report, under `--chaos-report` or the test's own."""
        asked: Path | None = self._request.config.getoption("--chaos-report")
        number = f"-{len(self._jobs) + 1}" if self._jobs else ""
        return (asked or self._folder) / f"{self._name}{number}"

    def stop(self) -> None:
        """Stop all jobs of this test."""
        for job in self._jobs:
            job.stop()
