"""A join that rejects a late record exactly a retention behind its lane's progress.

Defect: `ts <= P - retention` instead of `ts < P - retention`.
How one gets it: one character.
Expected: a dead letter in place of pairs.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_join, updates
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.join import JoinLanePart
from windowing.engine.windows.part import Assigned, Scan


class ShortLanePart(JoinLanePart):
    """Treats a record at the edge as one behind it."""

    def assign(self, scan: Scan) -> Assigned:  # noqa: D102
        behind = scan.progress_us - scan.values == (self._query.retention_us or 0)
        late = behind & (scan.progress_us > scan.values)
        return super().assign(replace(scan, progress_us=scan.progress_us + late))


BUG = planted_bug(
    planted("join_retention_edge", ShortLanePart),
    "dead letters",
    "conservation",
    shows_in=some_join(updates),
)
