"""Faults of a Kafka broker, drawn at random: killed and restarted, paused and resumed."""

from __future__ import annotations

from dataclasses import dataclass, field

from chaos.errors import FaultDidNotApply
from chaos.faults.fault import FaultContext
from chaos.faults.kind import Suggestion, fault
from infra import kafka
from infra.errors import NotReady
from infra.ports import answers
from infra.process import ProcessId


def draw_broker(context: FaultContext) -> tuple[str, int]:
    """Draw a broker; return the name of its daemon and its port."""
    return context.rng.choice(list(context.endpoints.brokers.items()))


def still_answers(port: int) -> bool:
    """Whether the broker on a port answers requests."""
    try:
        kafka.check(port)
    except NotReady:
        return False
    return True


@fault(
    "kill_broker",
    takes=("hold",),
    back_s=10,
    ends="cure",
    suggestion=Suggestion(6, "the source waits, and goes on"),
)
@dataclass
class KillBroker:
    """SIGKILL of a broker, which is restarted later.

    Attributes:
        hold_s: downtime in seconds.
    """

    hold_s: float = 5.0

    def inject(self, context: FaultContext) -> str:
        """Kill a broker, and check that nothing answers on its port."""
        name, port = draw_broker(context)
        gone = context.nodes.kill(context.nodes.daemon(name))
        if answers(port):
            msg = f"the broker, {gone}, but something answers on its port {port}"
            raise FaultDidNotApply(msg)
        return f"the broker, {gone}, nothing answers on its port"

    def heal(self, context: FaultContext) -> str:
        """Restart the broker, and wait until it answers."""
        context.restart("kafka")
        return "the broker answers again"


@fault("pause_broker", takes=("hold",), back_s=7, ends="cure")
@dataclass
class PauseBroker:
    """SIGSTOP of a broker, which keeps its connections and answers no requests.

    Attributes:
        hold_s: length of the pause in seconds.
    """

    hold_s: float = 10.0
    _paused: ProcessId | None = field(default=None, init=False)

    def inject(self, context: FaultContext) -> str:
        """Pause a broker, and check that a request stays unanswered."""
        name, port = draw_broker(context)
        self._paused = context.nodes.daemon(name)
        stopped = context.nodes.pause(self._paused)
        if still_answers(port):
            msg = f"the broker, {stopped}, but it answers requests"
            raise FaultDidNotApply(msg)
        return f"the broker, {stopped}, and a request stays unanswered"

    def heal(self, context: FaultContext) -> str:
        """Resume the broker, and wait until it answers."""
        if self._paused is None:
            return "nothing was paused"
        evidence = context.nodes.resume(self._paused)
        context.restart("kafka")
        return f"the broker answers again, {evidence}"
