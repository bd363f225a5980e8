"""A driver: one job of the cluster; and the HTTP client that asks about it."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import httpx

ALIVE = frozenset({"SUBMITTED", "RUNNING", "RELAUNCHING"})
"""States of a driver that is active, or will be."""


@dataclass(frozen=True)
class Driver:
    """One job of the cluster, as its master, or the ResourceManager, sees it.

    A supervised driver that dies stays RUNNING or goes through RELAUNCHING: the state does not say
    whether the job makes progress.

    Attributes:
        submission_id: the master's name for it; in YARN, the application's id.
        state: SUBMITTED, RUNNING, RELAUNCHING, FINISHED, FAILED, KILLED, ERROR or UNKNOWN.
        worker: the id of the worker, or node, that runs it; empty while it waits.
        name: the name whose latest submission it is; empty if this state folder has none.
        log_dir: the folder of its `stdout` and `stderr`; None if that is not on this machine.
        news: what the cluster says of it; empty: nothing.
    """

    submission_id: str
    state: str
    worker: str
    name: str
    log_dir: Path | None
    news: str = ""


@cache
def client() -> httpx.Client:
    """Return the client; every request sets its own time-out.

    It keeps no connections alive: a restarted master would not know them.
    """
    return httpx.Client(trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))
