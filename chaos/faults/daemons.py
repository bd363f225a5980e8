"""Faults of what manages machines and data: a daemon is killed, and restarted later."""

from __future__ import annotations

from dataclasses import dataclass, field

from chaos.control.node_control import await_that
from chaos.errors import FaultDidNotApply
from chaos.faults.cluster import gone_from, living_drivers, processes
from chaos.faults.fault import FaultContext
from chaos.faults.kind import STANDALONE, fault
from infra.ports import port_of
from infra.yarn import NODE_DAEMON

_KNOWN_AGAIN_S = 120.0


@dataclass
class _KillMaster:
    """SIGKILL of the daemon that knows all jobs; the restarted one must recognize them.

    Otherwise it would kill the driver, or let it live and allow a twin to be submitted.

    Attributes:
        address: the endpoint at which it is asked about jobs.
    """

    daemon: str
    component: str
    address: str
    hold_s: float = 5.0
    _before: list[str] = field(default_factory=list, init=False)

    def inject(self, context: FaultContext) -> str:
        """Kill the daemon, and check that nothing answers on its port."""
        self._before = living_drivers(context)
        gone = context.nodes.kill(context.nodes.daemon(self.daemon))
        port = port_of(getattr(context.endpoints, self.address))
        return gone_from(port, f"{self.daemon}, {gone}")

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


fault("kill_spark_master", takes=("hold",), back_s=5, ends="cure", stacks=STANDALONE)(
    _KillMaster, daemon="spark-master", component="spark", address="spark_rest"
)
fault("kill_resource_manager", takes=("hold",), back_s=5, ends="cure", stacks=("yarn",))(
    _KillMaster, daemon="yarn-resourcemanager", component="yarn", address="yarn_ui"
)


@dataclass
class _KillYarnDaemon:
    """SIGKILL of a daemon of YARN's or HDFS's machines, which is started again later."""

    daemon: str
    hold_s: float = 5.0

    def inject(self, context: FaultContext) -> str:
        """Kill the daemon."""
        children = len(context.nodes.children(self.daemon))
        gone = context.nodes.kill(context.nodes.daemon(self.daemon))
        return f"{self.daemon} with {children} processes of jobs, {gone}"

    def heal(self, context: FaultContext) -> str:
        """Start the daemon again, and wait until the cluster counts on it."""
        context.restart("yarn")
        return f"{self.daemon} started again, and the cluster counts on it"


for _name, _daemon, _back_s in (
    # When it is back, YARN starts its containers anew. Until they notice, driver and executors of
    # before live on beside the new ones.
    ("kill_node_manager", NODE_DAEMON, 60),
    # Checkpoint and tables can neither be read nor written.
    ("kill_data_node", "yarn-datanode", 20),
    # Nobody knows which files there are.
    ("kill_name_node", "yarn-namenode", 20),
):
    _of_daemon = fault(_name, takes=("hold",), back_s=_back_s, ends="cure", stacks=("yarn",))
    _of_daemon(_KillYarnDaemon, daemon=_daemon)
