"""A worker that goes on with the state that it has in memory, whatever its version.

Defect: a task that has come back to a worker finds the state as it was when it left.
How one gets it: a cache keyed by task instead of by task and version.
Expected: rows are lost or differ, and lanes go back.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.platform.cluster import HeldState, SimulatedCluster
from chaos.simulator.platform.parts import EngineParts


class TrustingCluster(SimulatedCluster):
    """Takes what a worker holds."""

    def usable(self, held: HeldState, version: int) -> bool:  # noqa: D102
        del held, version
        return True


BUG = planted_bug(
    EngineParts("stale_state", cluster=TrustingCluster),
    "deterministic",
    "conservation",
    "dead letters",
    "repeatable",
    "progress",
    "closing",
)
