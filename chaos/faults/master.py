"""A fault of the Spark master: it is killed and restarted later."""

from __future__ import annotations

from dataclasses import dataclass, field

from chaos.control.node_control import await_that
from chaos.errors import FaultDidNotApply
from chaos.faults.cluster import living_drivers, processes
from chaos.faults.fault import FaultContext
from chaos.faults.kind import fault
from infra.ports import answers, port_of

_KNOWN_AGAIN_S = 120.0


@fault("kill_spark_master", takes=("hold",), back_s=5, ends="cure")
@dataclass
class KillSparkMaster:
    """SIGKILL of the master: jobs run on, and the restarted master must recognize them.

    Otherwise it would kill the driver, or let it live and allow a twin to be submitted.

    Attributes:
        hold_s: downtime of the master in seconds.
    """

    hold_s: float = 5.0
    _before: list[str] = field(default_factory=list, init=False)

    def inject(self, context: FaultContext) -> str:
        """Kill the master, and check that nothing answers on its port."""
        self._before = living_drivers(context)
        gone = context.nodes.kill(context.nodes.daemon("spark-master"))
        port = port_of(context.endpoints.spark_rest)
        if answers(port):
            msg = f"the master, {gone}, but something answers on its port {port}"
            raise FaultDidNotApply(msg)
        return f"the master, {gone}, nothing answers on its port"

    def heal(self, context: FaultContext) -> str:
        """Restart the master; check that it knows the same drivers and that no twin runs.

        Raises:
            FaultDidNotApply: a driver is missing or has a twin, so the rest would prove nothing.
        """
        context.restart("spark")
        await_that(lambda: living_drivers(context) == self._before, _KNOWN_AGAIN_S)
        known, running = living_drivers(context), processes("driver", context.nodes)
        if known != self._before or len(running) > len(known):
            msg = f"drivers {self._before} before, {known} known and {len(running)} running now"
            raise FaultDidNotApply(msg)
        return f"the master knows {len(known)} driver again, {len(running)} runs, no twin"
