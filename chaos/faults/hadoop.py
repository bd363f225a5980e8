"""Faults of a YARN cluster's machines: of what starts processes, and of what keeps the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from chaos.faults.fault import FaultContext
from chaos.faults.kind import fault
from infra.yarn import NODE_DAEMON


@dataclass
class _KillDaemon:
    """SIGKILL of a daemon, which is started again later.

    Attributes:
        daemon: its name.
        hold_s: its downtime in seconds.
    """

    daemon: ClassVar[str]
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


@fault("kill_node_manager", takes=("hold",), back_s=60, ends="cure", stacks=("yarn",))
@dataclass
class KillYarnNode(_KillDaemon):
    """SIGKILL of a NodeManager: when it is back, YARN starts its containers anew.

    Until they notice, driver and executors of before live on beside the new ones.
    """

    daemon = NODE_DAEMON


@fault("kill_data_node", takes=("hold",), back_s=20, ends="cure", stacks=("yarn",))
@dataclass
class KillDataNode(_KillDaemon):
    """SIGKILL of the DataNode: checkpoint and tables can neither be read nor written."""

    daemon = "yarn-datanode"


@fault("kill_name_node", takes=("hold",), back_s=20, ends="cure", stacks=("yarn",))
@dataclass
class KillNameNode(_KillDaemon):
    """SIGKILL of the NameNode: nobody knows which files there are."""

    daemon = "yarn-namenode"
