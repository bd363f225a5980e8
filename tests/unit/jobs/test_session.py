"""What a process with a Spark session says when its JVM ends first, as a signal may have it."""

from __future__ import annotations

import io
import logging
import socket
import struct
import time

import py4j.java_gateway
import pytest
from pyspark import accumulators

from jobs.session import _quiet_end, _quiet_py4j

TOKEN = "of the JVM"  # noqa: S105 - nobody listens but us


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What handlers of logs would show, once py4j is quiet."""
    shown, root = io.StringIO(), logging.getLogger()
    monkeypatch.setattr(root, "handlers", [*root.handlers, logging.StreamHandler(shown)])
    monkeypatch.setattr(root, "filters", [])
    monkeypatch.setattr(logging.getLogger("py4j"), "propagate", True)
    _quiet_py4j()
    return shown


@pytest.mark.parametrize(
    ("name", "file", "shown"),
    [
        ("root", py4j.java_gateway.__file__, False),
        ("py4j.clientserver", py4j.java_gateway.__file__, False),
        ("root", __file__, True),
        ("of.a.user", __file__, True),
    ],
)
def test_no_log_of_what_is_raised_anyway(
    name: str, file: str, shown: bool, terminal: io.StringIO
) -> None:
    logger = logging.getLogger(None if name == "root" else name)
    logger.handle(logging.LogRecord(name, logging.ERROR, file, 1, "sending", (), None))
    assert terminal.getvalue() == ("sending\n" if shown else "")


def test_no_stack_trace_where_the_jvm_hangs_up(capsys: pytest.CaptureFixture[str]) -> None:
    server = accumulators._start_update_server(TOKEN, False)
    try:
        _quiet_end(server)
        with socket.create_connection(server.server_address) as jvm:
            jvm.sendall(TOKEN.encode() + struct.pack("!i", 0))
            assert jvm.recv(1) == b"\1"
        # Served after that one, and no end of a JVM.
        with socket.create_connection(server.server_address) as stranger:
            stranger.sendall(b"x" * len(TOKEN))
            until, said = time.monotonic() + 60.0, ""
            while "AccumulatorServer is not correct" not in said:
                assert time.monotonic() < until
                said += capsys.readouterr().err
                time.sleep(0.01)
    finally:
        server.shutdown()
    assert "EOFError" not in said
    assert said.count("Traceback") == 1
