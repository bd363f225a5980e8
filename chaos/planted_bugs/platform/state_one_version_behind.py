"""State files whose newest delta is not applied.

Defect: a task loads the state of one batch earlier.
How one gets it: an exclusive range where an inclusive one is meant.
Expected: records are applied twice or lost, or their offsets have a gap; progress goes back.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.state import StateFiles, Task, Values


class LateFiles(StateFiles):
    """Loads the previous version."""

    def load(self, task: Task, version: int) -> Values:  # noqa: D102
        return super().load(task, max(version - 1, 0))


BUG = planted_bug(
    EngineParts("state_one_version_behind", state=LateFiles),
    "no error",
    "deterministic",
    "conservation",
    "progress",
    "repeatable",
)
