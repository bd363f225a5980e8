"""A Dedup whose window holds only what it has sent.

Defect: a duplicate does not enter the window, and so does not renew the memory of the first.
How one gets it: a filter in front of the window saves memory.
Expected: a tuple is sent again while a duplicate of it should still be known.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.operator_conditions import some_operators, with_window
from chaos.planted_bugs.planted import planted
from windowing.engine.rows.operators import Dedup
from windowing.engine.rows.operators.operator import Tuple
from windowing.model.operators.steps import DedupStep


class FilteringDedup(Dedup):
    """A Dedup that stores no duplicates."""

    def insert(self, row: Tuple, port: int = 0) -> bool:
        """Process a tuple unless the window has its equal."""
        same = [row[name] for name in self._by]
        stored = self._window.rows(self._window._key_of(row)) or []
        if any([other[name] for name in self._by] == same for other in stored):
            return True
        return super().insert(row, port)


BUG = planted_bug(
    planted(
        "duplicates_are_not_stored",
        names={"windowing.engine.rows.stages:Dedup": FilteringDedup},
    ),
    "deterministic",
    shows_in=some_operators(with_window(step=(DedupStep,))),
)
