"""No fault but an everyday one: brokers are restarted in turn while the job runs."""

from __future__ import annotations

from dataclasses import dataclass

from chaos.errors import FaultDidNotApply
from chaos.faults.fault import FaultContext
from chaos.faults.kind import fault
from infra.ports import answers


@fault("roll_brokers", takes=("hold",), back_s=2, ends="cure")
@dataclass
class RollBrokers:
    """Stop each broker in good order and start it again, one after another, as upgrades do.

    Where each topic has replicas, one of them leads all the time; an only broker is missed.

    Attributes:
        hold_s: how long to wait once all have had their turn, in seconds.
    """

    hold_s: float = 0.0

    def inject(self, context: FaultContext) -> str:
        """Restart them all, each when the one before is in sync again.

        Raises:
            FaultDidNotApply: one does not stop.
        """
        brokers = context.endpoints.brokers
        for name, port in brokers.items():
            stopped = context.nodes.stop(context.nodes.daemon(name))
            if answers(port):
                msg = f"the broker, {stopped}, but something answers on its port {port}"
                raise FaultDidNotApply(msg)
            context.restart("kafka")
        count = "the broker" if len(brokers) == 1 else f"{len(brokers)} brokers, one after another,"
        return f"{count} stopped and started again"

    def heal(self, context: FaultContext) -> str:
        """Start what still stands still."""
        context.restart("kafka")
        return "every broker answers"
