"""A job on a real cluster loses an executor and its driver, and its table is the definition's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaos import faults
from chaos.readers.delta import read_tables
from chaos.readers.topic import read_topic
from chaos.verdict.verify import verify
from infra import stack
from infra.layout import Layout
from jobs import runs
from jobs.brokers.topics import create_topics, end_offsets
from jobs.datasets import flights
from windowing.model import load_pipeline

PIPELINE = Path(__file__).parents[3] / "pipelines" / "flight_delays.yml"
PATIENCE_S = 300


@pytest.fixture
def layout(tmp_path: Path) -> Iterator[Layout]:
    """A stack of Kafka and Spark of its own."""
    layout = Layout(tmp_path / "state")
    stack.up(only=["kafka", "spark"], layout=layout)
    yield layout
    stack.down(layout=layout)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_a_killed_executor_and_a_killed_driver_change_nothing(layout: Layout) -> None:
    pipeline = load_pipeline(PIPELINE)
    endpoints = stack.endpoints(layout=layout, only=["kafka", "spark"])
    create_topics(pipeline, endpoints.kafka_bootstrap)
    log = flights.flights().head(12_000)
    flights.publish(endpoints.kafka_bootstrap, log=log)
    run = runs.submit(endpoints, pipeline, PIPELINE, "hurt", runs.Options(max_offsets=2_000))

    def batches() -> int:
        return runs.committed_offsets(run.checkpoint)[0]

    for inject in (faults.kill_executor, faults.kill_driver):
        before = batches()
        wait_for(lambda before=before: batches() > before)
        struck = faults.strike(lambda inject=inject: inject(layout), batches())
        wait_for(lambda struck=struck: batches() > struck.batches)
    ends = end_offsets(endpoints.kafka_bootstrap, pipeline.source.topic)
    wait_for(lambda: runs.progress(endpoints, run, ends).done)
    runs.stop(endpoints, pipeline)

    topic = read_topic(endpoints.kafka_bootstrap, pipeline.source.topic)
    verdict = verify(pipeline, topic, read_tables(run.table, pipeline, "hurt"))
    assert verdict.ok, "\n".join(verdict.lines())
    assert verdict.rows.found > 1_000
