"""State files that skip unreadable deltas.

Defect: a delta with a wrong checksum is skipped, at best with a line in a log.
How one gets it: a catch-all around reading a state file; "best effort" recovery.
Expected: the damaged file is reported as skipped, and records are missing from the windows.
"""

from chaos.planted_bugs.bug import planted_bug
from chaos.simulator.platform.parts import EngineParts
from chaos.simulator.platform.state import StateDamaged, StateFiles, Values


class LenientFiles(StateFiles):
    """Continues without a damaged delta."""

    def apply(self, name: str, values: Values) -> None:  # noqa: D102
        try:
            super().apply(name, values)
        except StateDamaged:
            return


BUG = planted_bug(EngineParts("skipped_corrupt_delta", state=LenientFiles), "nothing skipped")
