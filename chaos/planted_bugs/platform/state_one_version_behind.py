"""State files of which the newest delta is not applied.

Defect: a task that loads its state starts one batch behind.
How one gets it: a range that ends before its end.
Expected: records are applied twice or lost; progress goes back.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.state import StateFiles, Task, Values


class LateFiles(StateFiles):
    """Loads the version before."""

    def load(self, task: Task, version: int) -> Values:  # noqa: D102
        return super().load(task, max(version - 1, 0))


BUG = planted_bug(
    EngineParts("state_one_version_behind", state=LateFiles),
    "deterministic",
    "conservation",
    "progress",
    "repeatable",
)
