"""Containers of our own images for the tests of this folder; whatever a test starts is removed.

`make test-containers` starts an engine and builds the images; without an engine all is skipped, for
one reason.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import psycopg
import pytest

from infra.containers import boxes, engine
from infra.containers.session import Session
from infra.containers.stack import ContainerStack
from infra.layout import Layout
from infra.ports import free_port

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_S = 240.0


def pytest_configure(config: pytest.Config) -> None:
    """Treat warnings as errors, except for one that no test can avoid."""
    # Kafka's client leaves sockets open where no broker answers, until they are collected.
    ignored = "ignore::pytest.PytestUnraisableExceptionWarning"
    config.addinivalue_line("filterwarnings", ignored)


@pytest.fixture(scope="session", autouse=True)
def forgotten_sockets() -> Iterator[None]:
    """Collect them while a test runs: after the last one nothing ignores them any more."""
    yield
    for _ in range(5):  # cycles that hold cycles
        gc.collect()


@pytest.fixture(scope="session")
def docker_engine() -> None:
    """Skips where no engine answers – but in CI that is a failure."""
    reason = engine.complaint()
    if reason and os.environ.get("CI"):
        pytest.fail(reason)
    if reason:
        pytest.skip(f"{reason}: `make test-containers` starts one where it may")


@pytest.fixture(scope="session")
def box_session(docker_engine: None) -> Iterator[Session]:
    """A network, and containers on it."""
    with Session() as session:
        yield session


@pytest.fixture
def postgres(box_session: Session, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a PostgreSQL of its own; libpq's variables lead to it."""
    port = free_port()
    names = {"user": "tester", "password": "tester", "database": "rows"}
    box_session.run(boxes.postgres(port=port, **names))
    monkeypatch.setenv("PGHOST", "127.0.0.1")
    monkeypatch.setenv("PGPORT", str(port))
    monkeypatch.setenv("PGUSER", names["user"])
    monkeypatch.setenv("PGPASSWORD", names["password"])
    monkeypatch.setenv("PGDATABASE", names["database"])
    await_postgres()
    yield "postgres"
    box_session.remove("postgres")


def await_postgres() -> None:
    """Wait until the data base of libpq's variables answers."""
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            psycopg.connect(connect_timeout=2).close()
            return
        except psycopg.OperationalError:
            assert time.monotonic() < until_s, "PostgreSQL does not answer"
            time.sleep(0.2)


@pytest.fixture(scope="module")
def cluster(
    docker_engine: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ContainerStack]:
    """A broker, a Spark master and two workers on one network, for all tests of a file."""
    with ContainerStack(Layout(tmp_path_factory.mktemp("cluster")), print) as stack:
        yield stack


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session with the settings that lanes and shards need."""
    from jobs.session import session

    active = session("slackwater container tests", master="local[2]")
    active.sparkContext.setLogLevel("ERROR")
    yield active
    active.stop()
