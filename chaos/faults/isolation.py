"""Faults that isolate a node: disconnected, frozen, or losing packets. Most need containers."""

from __future__ import annotations

from dataclasses import dataclass, field

from chaos.errors import FaultDidNotApply
from chaos.faults.broker import draw_broker, unanswered
from chaos.faults.cluster import busy_worker
from chaos.faults.fault import FaultContext
from chaos.faults.kind import STANDALONE, Suggestion, fault
from infra.process import ProcessId


@fault(
    "disconnect_broker",
    takes=("hold",),
    back_s=10,
    ends="cure",
    stacks=("containers",),
    suggestion=Suggestion(13, "with --stack containers", aside=True),
)
@dataclass
class DisconnectBroker:
    """Disconnection of a broker from the network; it keeps running."""

    hold_s: float = 10.0
    _daemon: str = field(default="", init=False)

    def inject(self, context: FaultContext) -> str:
        """Disconnect a broker, and check that a request stays unanswered."""
        self._daemon, port = draw_broker(context)
        return unanswered(port, f"the broker, {context.nodes.disconnect(self._daemon)}")

    def heal(self, context: FaultContext) -> str:
        """Reconnect the broker, and wait until it answers."""
        if not self._daemon:
            return "nothing was cut off"
        joined = context.nodes.reconnect(self._daemon)
        context.restart("kafka")
        return f"the broker answers again, {joined}"


@fault("disconnect_spark_worker", takes=("hold",), back_s=71, ends="cure", stacks=("containers",))
@dataclass
class DisconnectSparkWorker:
    """Disconnection of a worker and its processes, as if its network cable were pulled.

    Its executors, and a driver on it, keep running but reach neither broker nor master. They still
    have the shared folder of checkpoints and tables, so a zombie could do harm.

    Attributes:
        hold_s: duration in seconds; the master gives up a worker after a minute of silence.
    """

    hold_s: float = 75.0
    _daemon: str = field(default="", init=False)

    def inject(self, context: FaultContext) -> str:
        """Disconnect a busy worker drawn at random."""
        self._daemon, _, children = busy_worker(context)
        return f"{self._daemon} with {children} processes, {context.nodes.disconnect(self._daemon)}"

    def heal(self, context: FaultContext) -> str:
        """Reconnect the worker."""
        if not self._daemon:
            return "nothing was cut off"
        joined = context.nodes.reconnect(self._daemon)
        context.restart("spark")
        return f"{self._daemon}, {joined}"


@fault("pause_spark_worker", takes=("hold",), back_s=25, ends="cure", stacks=STANDALONE)
@dataclass
class PauseSparkWorker:
    """Freeze of a worker; in a container, together with all its processes, like a hung machine."""

    hold_s: float = 25.0
    _paused: ProcessId | None = field(default=None, init=False)

    def inject(self, context: FaultContext) -> str:
        """Freeze a busy worker drawn at random."""
        daemon, self._paused, children = busy_worker(context)
        return f"{daemon} with {children} processes, {context.nodes.pause(self._paused)}"

    def heal(self, context: FaultContext) -> str:
        """Resume the worker."""
        if self._paused is None:
            return "nothing was paused"
        resumed = context.nodes.resume(self._paused)
        context.restart("spark")
        return resumed


@fault("lose_packets", takes=("hold",), back_s=10, ends="cure", stacks=("containers",))
@dataclass
class LosePackets:
    """Loss of a share of a broker's incoming packets.

    Attributes:
        share: between 0 and 1.
    """

    share: float = 0.2
    hold_s: float = 20.0
    _daemon: str = field(default="", init=False)

    def inject(self, context: FaultContext) -> str:
        """Start dropping packets."""
        daemon, _ = draw_broker(context)
        losing = context.nodes.lose_packets(daemon, self.share)
        self._daemon = daemon
        return f"the broker, {losing}"

    def heal(self, context: FaultContext) -> str:
        """Stop dropping packets, and check that some were dropped.

        Raises:
            FaultDidNotApply: no packet was dropped.
        """
        if not self._daemon:
            return "nothing was dropped"
        dropped = context.nodes.restore_packets(self._daemon)
        if not dropped:
            msg = "no packet came in for the broker, so none was dropped"
            raise FaultDidNotApply(msg)
        return f"{dropped} packets were dropped"
