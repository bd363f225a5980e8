"""A routine operation: a rolling restart of the brokers while the job runs."""

from __future__ import annotations

from dataclasses import dataclass

from chaos.errors import FaultDidNotApply
from chaos.faults.fault import FaultContext
from chaos.faults.kind import fault
from infra.ports import answers


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
            stopped = context.nodes.stop(context.nodes.daemon(name))
            if answers(port):
                msg = f"the broker, {stopped}, but something answers on its port {port}"
                raise FaultDidNotApply(msg)
            context.restart("kafka")
        count = "the broker" if len(brokers) == 1 else f"{len(brokers)} brokers, one after another,"
        return f"{count} stopped and started again"

    def heal(self, context: FaultContext) -> str:
        """Start whatever is still stopped."""
        context.restart("kafka")
        return "every broker answers"
