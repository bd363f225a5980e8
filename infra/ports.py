"""Ports on the loopback address: which are free, and alternatives."""

import errno
import os
import socket
from collections.abc import Collection

from infra.errors import InfraError
from infra.locks import try_lock
from infra.private import open_lock

HOST = "127.0.0.1"
TRIES = 200

_given: set[int] = set()
"""The ports that the system has picked for this process."""

_promised: dict[int, int] = {}
"""The locks of the ports that this process has picked, against other processes."""


def is_free(port: int) -> bool:
    """Return whether a server could listen on `port` of the loopback address now.

    Connections of an earlier server that are still closing do not count as taken.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
    return True


def pick(preferred: int, avoid: Collection[int] = ()) -> int:
    """Return `preferred` if it is free, else the next free port above it.

    Args:
        preferred: the default port; below the ephemeral range, so that no outgoing connection can
            hold it by accident.
        avoid: ports that are promised to others.

    Raises:
        InfraError: all of the next 200 ports are in use or promised to other stacks, or locks
            cannot be kept in private.
    """
    for port in range(preferred, preferred + TRIES):
        if port not in avoid and is_free(port) and _promise(port):
            return port
    last = preferred + TRIES - 1
    text = f"no free port on {HOST} from {preferred} to {last}; stop what listens there"
    raise InfraError(text)


def _promise(port: int) -> bool:
    """Reserve a port against other stacks until the server listens; False: one of them has it."""
    if port in _promised:
        return True
    lock = open_lock(f"port-{port}.lock")
    if not try_lock(lock):
        os.close(lock)
        return False
    _promised[port] = lock
    return True


def free_port() -> int:
    """Return a port that is free now, picked by the system above our daemons' defaults.

    No port is returned twice, so a caller can get several before anything listens.
    """
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.bind((HOST, 0))
            port = int(probe.getsockname()[1])
        if port not in _given:
            _given.add(port)
            return port


def port_of(address: str) -> int:
    """Return the port of `host:port`, or of a URL that ends with one."""
    return int(address.rpartition(":")[2])


def answers(port: int, timeout_s: float = 1.0) -> bool:
    """Return whether something accepts connections on `port` of the loopback address."""
    try:
        with socket.create_connection((HOST, port), timeout=timeout_s):
            return True
    except OSError:
        return False
