"""Faults of what manages the machines: it is killed, jobs run on, and it is restarted later."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from chaos.control.node_control import await_that
from chaos.errors import FaultDidNotApply
from chaos.faults.cluster import living_drivers, processes
from chaos.faults.fault import FaultContext
from chaos.faults.kind import STANDALONE, fault
from infra.endpoints import Endpoints
from infra.ports import answers, port_of

_KNOWN_AGAIN_S = 120.0


@dataclass
class _KillMaster:
    """SIGKILL of the daemon that knows all jobs; the restarted one must recognize them.

    Otherwise it would kill the driver, or let it live and allow a twin to be submitted.

    Attributes:
        daemon: its name.
        component: the component to which it belongs.
        hold_s: its downtime in seconds.
    """

    daemon: ClassVar[str]
    component: ClassVar[str]
    hold_s: float = 5.0
    _before: list[str] = field(default_factory=list, init=False)

    def inject(self, context: FaultContext) -> str:
        """Kill the daemon, and check that nothing answers on its port."""
        self._before = living_drivers(context)
        gone = context.nodes.kill(context.nodes.daemon(self.daemon))
        port = port_of(self.address(context.endpoints))
        if answers(port):
            msg = f"{self.daemon}, {gone}, but something answers on its port {port}"
            raise FaultDidNotApply(msg)
        return f"{self.daemon}, {gone}, nothing answers on its port"

    def heal(self, context: FaultContext) -> str:
        """Restart the daemon; check that it knows the same drivers and that no twin runs.

        Raises:
            FaultDidNotApply: a driver is missing or has a twin, so the rest would prove nothing.
        """
        context.restart(self.component)
        await_that(lambda: living_drivers(context) == self._before, _KNOWN_AGAIN_S)
        known, running = living_drivers(context), processes("driver", context.nodes)
        if known != self._before or len(running) > len(known):
            msg = f"drivers {self._before} before, {known} known and {len(running)} running now"
            raise FaultDidNotApply(msg)
        return f"{self.daemon} knows {len(known)} driver again, {len(running)} runs, no twin"

    def address(self, endpoints: Endpoints) -> str:
        """Return the address at which the daemon is asked about jobs."""
        raise NotImplementedError


@fault("kill_spark_master", takes=("hold",), back_s=5, ends="cure", stacks=STANDALONE)
@dataclass
class KillSparkMaster(_KillMaster):
    """SIGKILL of Spark's master."""

    daemon, component = "spark-master", "spark"

    def address(self, endpoints: Endpoints) -> str:
        """Return the address of its submission server."""
        return endpoints.spark_rest


@fault("kill_resource_manager", takes=("hold",), back_s=5, ends="cure", stacks=("yarn",))
@dataclass
class KillYarnMaster(_KillMaster):
    """SIGKILL of YARN's ResourceManager."""

    daemon, component = "yarn-resourcemanager", "yarn"

    def address(self, endpoints: Endpoints) -> str:
        """Return the address of its page."""
        return endpoints.yarn_ui
