"""A record exactly at its lane's progress is late for a join.

Defect: `P >= ts` instead of `P > ts`.
How one gets it: a bound read as inclusive.
Expected: on-time records are treated as late: other revisions, or dead letters.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_join
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.join import JoinLanePart
from windowing.engine.windows.part import Assigned, Scan


class StrictLanePart(JoinLanePart):
    """Judges such a record by a progress that is one too high."""

    def assign(self, scan: Scan) -> Assigned:  # noqa: D102
        late = scan.progress_us == scan.values
        return super().assign(replace(scan, progress_us=scan.progress_us + late))


BUG = planted_bug(
    planted("join_late_at_the_bound", StrictLanePart),
    "deterministic",
    "dead letters",
    "conservation",
    shows_in=some_join(),
)
