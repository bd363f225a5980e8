"""Faults of a part's own network: taken from it, or losing packets. They need containers."""

from __future__ import annotations

from dataclasses import dataclass, field

from chaos.errors import FaultDidNotApply
from chaos.faults.broker import draw_broker, still_answers
from chaos.faults.cluster import busy_worker
from chaos.faults.fault import FaultContext
from chaos.faults.kind import Suggestion, fault
from infra.process import ProcessId


@fault(
    "disconnect_broker",
    takes=("hold",),
    back_s=10,
    ends="cure",
    contained=True,
    suggestion=Suggestion(13, "with --stack containers", aside=True),
)
@dataclass
class DisconnectBroker:
    """Take a broker from the network: it runs on and hears nobody.

    Attributes:
        hold_s: how long, in seconds.
    """

    hold_s: float = 10.0
    _daemon: str = field(default="", init=False)

    def inject(self, context: FaultContext) -> str:
        """Take it away, and see that a request stays unanswered."""
        self._daemon, port = draw_broker(context)
        cut = context.nodes.disconnect(self._daemon)
        if still_answers(port):
            msg = f"the broker, {cut}, but it answers requests"
            raise FaultDidNotApply(msg)
        return f"the broker, {cut}, and a request stays unanswered"

    def heal(self, context: FaultContext) -> str:
        """Put it back, and wait until it answers."""
        if not self._daemon:
            return "nothing was cut off"
        joined = context.nodes.reconnect(self._daemon)
        context.restart("kafka")
        return f"the broker answers again, {joined}"


@fault("disconnect_spark_worker", takes=("hold",), back_s=71, ends="cure", contained=True)
@dataclass
class DisconnectSparkWorker:
    """Take a worker with all that it runs from the network, as a machine whose cable is pulled.

    Its executors, and a driver on it, run on and reach neither broker nor master; only the shared
    folder of checkpoints and tables is still theirs, so that a zombie could do harm.

    Attributes:
        hold_s: how long, in seconds; the master gives a worker up after a minute of silence.
    """

    hold_s: float = 75.0
    _daemon: str = field(default="", init=False)

    def inject(self, context: FaultContext) -> str:
        """Take one away, drawn from those that have work."""
        self._daemon, _, children = busy_worker(context)
        return f"{self._daemon} with {children} processes, {context.nodes.disconnect(self._daemon)}"

    def heal(self, context: FaultContext) -> str:
        """Put it back."""
        if not self._daemon:
            return "nothing was cut off"
        joined = context.nodes.reconnect(self._daemon)
        context.restart("spark")
        return f"{self._daemon}, {joined}"


@fault("pause_spark_worker", takes=("hold",), back_s=25, ends="cure")
@dataclass
class PauseSparkWorker:
    """Freeze a worker; in a container, with all that it runs, as a machine that hangs.

    Attributes:
        hold_s: how long, in seconds.
    """

    hold_s: float = 25.0
    _paused: ProcessId | None = field(default=None, init=False)

    def inject(self, context: FaultContext) -> str:
        """Freeze one, drawn from those that have work."""
        daemon, self._paused, children = busy_worker(context)
        return f"{daemon} with {children} processes, {context.nodes.pause(self._paused)}"

    def heal(self, context: FaultContext) -> str:
        """Let it go on."""
        if self._paused is None:
            return "nothing was paused"
        resumed = context.nodes.resume(self._paused)
        context.restart("spark")
        return resumed


@fault("lose_packets", takes=("hold",), back_s=10, ends="cure", contained=True)
@dataclass
class LosePackets:
    """Drop a share of the packets that come in for a broker.

    Attributes:
        share: of all of them, between 0 and 1.
        hold_s: how long, in seconds.
    """

    share: float = 0.2
    hold_s: float = 20.0
    _daemon: str = field(default="", init=False)

    def inject(self, context: FaultContext) -> str:
        """Begin to drop them."""
        daemon, _ = draw_broker(context)
        losing = context.nodes.lose_packets(daemon, self.share)
        self._daemon = daemon
        return f"the broker, {losing}"

    def heal(self, context: FaultContext) -> str:
        """Let everything through again, and see that something was dropped.

        Raises:
            FaultDidNotApply: nothing was.
        """
        if not self._daemon:
            return "nothing was dropped"
        dropped = context.nodes.restore_packets(self._daemon)
        if not dropped:
            msg = "no packet came in for the broker, so none was dropped"
            raise FaultDidNotApply(msg)
        return f"{dropped} packets were dropped"
