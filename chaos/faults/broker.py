"""Faults of Kafka brokers: one is killed or paused; all are restarted in turn."""

from __future__ import annotations

from dataclasses import dataclass, field

from chaos.errors import FaultDidNotApply
from chaos.faults.cluster import gone_from
from chaos.faults.fault import FaultContext
from chaos.faults.kind import Suggestion, fault
from infra import kafka
from infra.errors import NotReady
from infra.process import ProcessId


def draw_broker(context: FaultContext) -> tuple[str, int]:
    """Draw a broker; return the name of its daemon and its port."""
    return context.rng.choice(list(context.endpoints.brokers.items()))


def unanswered(port: int, what: str) -> str:
    """Return what was done, with the evidence that the broker on a port answers no request.

    Raises:
        FaultDidNotApply: it does.
    """
    try:
        kafka.check(port)
    except NotReady:
        return f"{what}, and a request stays unanswered"
    msg = f"{what}, but it answers requests"
    raise FaultDidNotApply(msg)


@fault(
    "kill_broker",
    takes=("hold",),
    back_s=10,
    ends="cure",
    suggestion=Suggestion(6, "the source waits, and goes on"),
)
@dataclass
class KillBroker:
    """SIGKILL of a broker, which is restarted later."""

    hold_s: float = 5.0

    def inject(self, context: FaultContext) -> str:
        """Kill a broker, and check that nothing answers on its port."""
        name, port = draw_broker(context)
        return gone_from(port, f"the broker, {context.nodes.kill(context.nodes.daemon(name))}")

    def heal(self, context: FaultContext) -> str:
        """Restart the broker, and wait until it answers."""
        context.restart("kafka")
        return "the broker answers again"


@fault("pause_broker", takes=("hold",), back_s=7, ends="cure")
@dataclass
class PauseBroker:
    """SIGSTOP of a broker, which keeps its connections and answers no requests."""

    hold_s: float = 10.0
    _paused: ProcessId | None = field(default=None, init=False)

    def inject(self, context: FaultContext) -> str:
        """Pause a broker, and check that a request stays unanswered."""
        name, port = draw_broker(context)
        self._paused = context.nodes.daemon(name)
        return unanswered(port, f"the broker, {context.nodes.pause(self._paused)}")

    def heal(self, context: FaultContext) -> str:
        """Resume the broker, and wait until it answers."""
        if self._paused is None:
            return "nothing was paused"
        evidence = context.nodes.resume(self._paused)
        context.restart("kafka")
        return f"the broker answers again, {evidence}"


@fault("roll_brokers", takes=("hold",), back_s=2, ends="cure")
@dataclass
class RollBrokers:
    """Rolling restart of the brokers, each shut down cleanly, as in an upgrade.

    If topics have replicas, one of them leads at any time; a single broker is unavailable.

    Attributes:
        hold_s: time to wait after the last restart, in seconds.
    """

    hold_s: float = 0.0

    def inject(self, context: FaultContext) -> str:
        """Restart the brokers, each once the one before is in sync again.

        Raises:
            FaultDidNotApply: a broker does not stop.
        """
        brokers = context.endpoints.brokers
        for name, port in brokers.items():
            gone_from(port, f"the broker, {context.nodes.stop(context.nodes.daemon(name))}")
            context.restart("kafka")
        count = "the broker" if len(brokers) == 1 else f"{len(brokers)} brokers, one after another,"
        return f"{count} stopped and started again"

    def heal(self, context: FaultContext) -> str:
        """Start whatever is still stopped."""
        context.restart("kafka")
        return "every broker answers"
