"""A worker that uses the state in its memory, whatever its version.

Defect: a task that returns to a worker finds the state from when it left.
How one gets it: a cache keyed by task instead of by task and version.
Expected: rows are lost or differ, and progress of lanes falls.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.platform.cluster import HeldState, SimulatedCluster
from chaos.simulator.platform.parts import EngineParts


class TrustingCluster(SimulatedCluster):
    """Takes a worker's state without checking its version."""

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
