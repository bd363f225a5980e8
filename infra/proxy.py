"""A proxy between clients and a server on this machine that slows or cuts traffic.

Runs in a thread of the caller. It gives one job a bad network while all others keep a good one. See
`infra.kafka.PORTS` for how a broker's clients are led through it.
"""

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from infra.errors import InfraError

_CHUNK = 64 << 10
_START_S = 10.0
_DROP_ON_CLOSE = struct.pack("ii", 1, 0)
"""Value of SO_LINGER: closing discards data in flight and sends a RST packet."""


@dataclass(frozen=True)
class Conditions:
    """The condition of the network.

    Attributes:
        latency_s: delay of all data, in each direction, in seconds.
        bytes_per_s: bandwidth, at most, per connection and direction; None: no limit.
        cut: whether nothing passes: connections are broken, and new ones are too, at once.
    """

    latency_s: float = 0.0
    bytes_per_s: float | None = None
    cut: bool = False


class Proxy:
    """Listens on one address of this machine and forwards everything to another.

    Args:
        listen: `host:port` to listen on.
        target: `host:port` of the server.
    """

    def __init__(self, listen: str, target: str) -> None:
        self._listen, self._target = _split(listen), _split(target)
        self._conditions = Conditions()
        self._loop = asyncio.new_event_loop()
        self._open: set[asyncio.StreamWriter] = set()
        self._pumps: set[asyncio.Task[None]] = set()
        self.passed = 0
        """Number of bytes forwarded, in both directions."""
        self.broken = 0
        """Number of connections broken or refused by a cut or a reset."""
        self.opened = 0
        """Number of connections made."""

    def __enter__(self) -> "Proxy":
        """Start listening.

        Raises:
            InfraError: the address is taken.
        """
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        try:
            self._server = self._run(asyncio.start_server(self._serve, *self._listen))
        except OSError as error:
            self._stop_loop()
            host, port = self._listen
            text = f"a proxy cannot listen on {host}:{port} ({error.strerror}): free the port"
            raise InfraError(text) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop listening, and break all connections."""
        self._run(self._shut())
        self._stop_loop()

    def set(self, conditions: Conditions) -> None:
        """Change the network; a cut breaks current connections."""
        self._conditions = conditions
        if conditions.cut:
            self._run(self._break_all())

    def reset(self) -> None:
        """Reset every connection, on both sides; new ones are forwarded as before."""
        self._run(self._reset_all())

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_START_S)

    def _stop_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_START_S)
        self._loop.close()

    async def _shut(self) -> None:
        self._server.close()
        await self._break_all()
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    async def _break_all(self) -> None:
        self.broken += len(self._open) // 2
        for writer in list(self._open):
            writer.transport.abort()

    async def _reset_all(self) -> None:
        for writer in self._open:
            line: socket.socket = writer.get_extra_info("socket")
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _DROP_ON_CLOSE)
        await self._break_all()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._conditions.cut:
            self.broken += 1
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:  # no server: its client sees the same
            writer.transport.abort()
            return
        self.opened += 1
        for source, sink in ((reader, far_writer), (far_reader, writer)):
            self._open.add(sink)
            pump = asyncio.ensure_future(self._pump(source, sink))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(_CHUNK):
                now = self._conditions
                per_byte_s = 1 / now.bytes_per_s if now.bytes_per_s else 0.0
                if (wait_s := now.latency_s + len(data) * per_byte_s) > 0:
                    await asyncio.sleep(wait_s)
                self.passed += len(data)
                sink.write(data)
                await sink.drain()
        except ConnectionError:  # broken by a peer or by a cut: both sides notice
            pass
        finally:
            self._open.discard(sink)
            sink.close()


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)
