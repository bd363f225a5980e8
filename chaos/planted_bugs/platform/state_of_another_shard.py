"""State files that give one task the state of another.

Defect: a shard's state is found by its place among the tasks, which a restart may change.
How one gets it: a state store that is keyed by the number of a task in its stage.
Expected: windows are sent by two shards, or by none; a file that is damaged is never read.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import keyed, several_shards, some_flow
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.state import StateFiles, Task, Values


class MixedFiles(StateFiles):
    """Takes the first shard's state for the second's."""

    def load(self, task: Task, version: int) -> Values:  # noqa: D102
        return super().load(("shard", 0) if task == ("shard", 1) else task, version)


BUG = planted_bug(
    EngineParts("state_of_another_shard", state=MixedFiles),
    "deterministic",
    "nothing skipped",
    shows_in=some_flow(keyed, several_shards),
)
