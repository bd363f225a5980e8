"""One HTTP client of a process, for the pages of Spark: to make one loads every certificate."""

from functools import cache

import httpx


@cache
def client() -> httpx.Client:
    """Gives the client; every request says how long it may take.

    It keeps no connection, since a master that was killed and has come back would not know it.
    """
    return httpx.Client(trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))
