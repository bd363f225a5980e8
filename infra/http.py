"""One HTTP client per process, for Spark's pages: creating one loads every certificate."""

from functools import cache

import httpx


@cache
def client() -> httpx.Client:
    """Return the client; every request sets its own time-out.

    It keeps no connections alive: a restarted master would not know them.
    """
    return httpx.Client(trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))
