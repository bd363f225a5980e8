"""Containers of our own images for the tests of this folder; whatever a test starts is removed.

Asked for by `make test-containers`, which has the images built; without an engine all is skipped,
for one reason.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")  # its image is on no machine of ours
os.environ.setdefault("TESTCONTAINERS_HOST_OVERRIDE", "localhost")

_PG = {"POSTGRES_USER": "tester", "POSTGRES_PASSWORD": "tester", "POSTGRES_DB": "rows"}


def _no_engine() -> str:
    """Why there can be no container here; empty where there can."""
    import docker

    try:
        client = docker.from_env()
        client.ping()
        client.images.get("slackwater/postgres:local")
    except docker.errors.ImageNotFound:
        return "the images are not built: run infra/images/build"
    except docker.errors.DockerException as error:
        return f"no Docker engine answers ({error}): install docker.io and start dockerd"
    return ""


@pytest.fixture(scope="session")
def engine() -> None:
    """Skips where no engine answers – but in CI that is a failure."""
    reason = _no_engine()
    if reason and os.environ.get("CI"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)


@pytest.fixture
def postgres(engine: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A PostgreSQL of its own, named by libpq's variables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from testcontainers.core.container import DockerContainer
        from testcontainers.core.wait_strategies import LogMessageWaitStrategy
    container = DockerContainer("slackwater/postgres:local").with_exposed_ports(5432)
    for name, value in _PG.items():
        container = container.with_env(name, value)
    # Its first start, which makes the data folder, listens to nobody.
    ready = LogMessageWaitStrategy(r'listening on IPv4 address "0.0.0.0"[\s\S]*ready to accept')
    with container.waiting_for(ready) as running:
        monkeypatch.setenv("PGHOST", "127.0.0.1")
        monkeypatch.setenv("PGPORT", str(running.get_exposed_port(5432)))
        monkeypatch.setenv("PGUSER", _PG["POSTGRES_USER"])
        monkeypatch.setenv("PGPASSWORD", _PG["POSTGRES_PASSWORD"])
        monkeypatch.setenv("PGDATABASE", _PG["POSTGRES_DB"])
        yield


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session with the settings that lanes and shards need."""
    from jobs.session import session

    active = session("slackwater container tests", master="local[2]")
    active.sparkContext.setLogLevel("ERROR")
    yield active
    active.stop()
