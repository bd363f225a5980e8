"""The proxy in front of a server that gives back what it gets."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from infra.errors import InfraError
from infra.ports import HOST
from infra.proxy import Conditions, Proxy


@pytest.fixture
def echo() -> Iterator[str]:
    server = socket.create_server((HOST, 0))

    def serve() -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:  # closed: the test is over
                return
            threading.Thread(target=_give_back, args=(client,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield f"{HOST}:{server.getsockname()[1]}"
    server.close()


def _give_back(client: socket.socket) -> None:
    with client:
        while data := client.recv(1024):
            client.sendall(data)


@pytest.fixture
def free() -> str:
    with socket.create_server((HOST, 0)) as server:
        return f"{HOST}:{server.getsockname()[1]}"


def ask(address: str, data: bytes = b"hello") -> bytes:
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=5) as client:
        client.sendall(data)
        return client.recv(1024)


def ended(client: socket.socket) -> bool:
    """Whether a connection is over, politely or not."""
    try:
        return client.recv(1) == b""
    except ConnectionError:
        return True


def answered(address: str) -> bool:
    try:
        return ask(address) == b"hello"
    except ConnectionError:
        return False


def test_what_is_sent_passes_and_is_counted(echo: str, free: str) -> None:
    with Proxy(free, echo) as proxy:
        assert ask(free) == b"hello"
        assert proxy.passed == 10


def test_a_slow_network_holds_data_both_ways(echo: str, free: str) -> None:
    with Proxy(free, echo) as proxy:
        proxy.set(Conditions(latency_s=0.1, bytes_per_s=50.0))
        began = time.monotonic()
        assert ask(free) == b"hello"
        assert time.monotonic() - began >= 2 * (0.1 + 5 / 50)


def test_a_cut_breaks_what_is_connected_and_what_comes(echo: str, free: str) -> None:
    host, _, port = free.rpartition(":")
    with Proxy(free, echo) as proxy:
        with socket.create_connection((host, int(port)), timeout=5) as client:
            client.sendall(b"a")
            assert client.recv(1) == b"a"
            proxy.set(Conditions(cut=True))
            assert ended(client)
        assert not answered(free)
        assert proxy.broken == 2
        proxy.set(Conditions())
        assert ask(free) == b"hello"


def test_a_port_that_is_taken_is_named(echo: str) -> None:
    with pytest.raises(InfraError, match=f"cannot listen on {echo}"), Proxy(echo, echo):
        pass


def test_a_reset_reaches_both_sides_and_new_connections_pass(free: str) -> None:
    host, _, port = free.rpartition(":")
    with (
        socket.create_server((HOST, 0)) as server,
        Proxy(free, f"{HOST}:{server.getsockname()[1]}") as proxy,
        socket.create_connection((host, int(port)), timeout=5) as client,
    ):
        far, _ = server.accept()
        far.settimeout(5)
        client.sendall(b"a")
        assert far.recv(1) == b"a"
        proxy.reset()
        for side in (client, far):
            with pytest.raises(ConnectionResetError):
                side.recv(1)
        far.close()
        assert (proxy.broken, proxy.opened) == (1, 1)
        with socket.create_connection((host, int(port)), timeout=5) as again:
            again.sendall(b"b")
            with server.accept()[0] as far:
                assert far.recv(1) == b"b"
        assert (proxy.broken, proxy.opened) == (1, 2)
