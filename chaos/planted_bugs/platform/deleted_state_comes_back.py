"""State files whose deltas record puts, but not deletes.

Defect: entries deleted by a compaction return once the state is loaded from files.
How one gets it: a delta as a map of changed values.
Expected: windows hold records twice.
"""

import msgspec

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.draw.wish import Wish
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.state import StateFiles, Values, _Delta


class PuttingFiles(StateFiles):
    """Applies puts only."""

    def apply(self, name: str, values: Values) -> None:  # noqa: D102
        values.update(msgspec.msgpack.decode(self.read(name), type=_Delta).puts)


BUG = planted_bug(
    EngineParts("deleted_state_comes_back", state=PuttingFiles),
    "deterministic",
    "repeatable",
    wish=Wish(long=0.5),
)
