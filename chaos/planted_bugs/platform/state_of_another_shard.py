"""State files that give one task the state of another.

Defect: a shard's state is found by its task's position, which a restart may change.
How one gets it: a state store keyed by the task's number in its stage.
Expected: windows are emitted by two shards or by none; a damaged file is never read.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import keyed, several_shards, some_flow
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.state import StateFiles, Task, Values


class MixedFiles(StateFiles):
    """Loads the first shard's state for the second."""

    def load(self, task: Task, version: int) -> Values:  # noqa: D102
        return super().load(("shard", 0) if task == ("shard", 1) else task, version)


BUG = planted_bug(
    EngineParts("state_of_another_shard", state=MixedFiles),
    "deterministic",
    "nothing skipped",
    shows_in=some_flow(keyed, several_shards),
)
