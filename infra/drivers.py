"""Drivers of jobs, wherever the machines are: on Spark's own master, or in YARN.

Both sides have the same five functions; the endpoints of the stack decide which one is asked.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from infra import spark_rest, yarn_jobs
from infra.driver import ALIVE, Driver
from infra.endpoints import Endpoints


class _Cluster(Protocol):
    """What `spark_rest` and `yarn_jobs` are: modules with these functions."""

    def submit(
        self,
        endpoints: Endpoints,
        script: str | Path,
        args: Sequence[str],
        *,
        name: str,
        conf: Mapping[str, str] | None = None,
        supervise: bool = True,
    ) -> str: ...

    def find_driver(self, endpoints: Endpoints, name: str) -> str | None: ...

    def status(self, endpoints: Endpoints, submission_id: str) -> Driver: ...

    def kill(self, endpoints: Endpoints, submission_id: str, *, wait_s: float = 20.0) -> bool: ...

    def list_drivers(self, endpoints: Endpoints) -> list[Driver]: ...


def cluster(endpoints: Endpoints) -> _Cluster:
    """Return whom to ask about drivers."""
    return yarn_jobs if endpoints.yarn_ui else spark_rest


def can_be_asked(endpoints: Endpoints) -> bool:
    """Whether the endpoints name anybody who runs drivers."""
    return bool(endpoints.yarn_ui or endpoints.spark_rest)


__all__ = ["ALIVE", "Driver", "can_be_asked", "cluster"]
