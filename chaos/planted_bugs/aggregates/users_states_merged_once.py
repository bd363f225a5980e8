"""User aggregates whose merge omits the last of several states.

Defect: a merge of three or more states omits one.
How one gets it: pairwise merging of an odd number.
Expected: values differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates.user import UserState


class PairwiseState(UserState):
    """Merges in pairs and drops an unpaired state."""

    def _merged(self, states: Sequence[bytes]) -> bytes:
        even = states if len(states) == 1 else states[: len(states) - len(states) % 2]
        return super()._merged(even)


BUG = planted_bug(
    planted("users_states_merged_once", PairwiseState),
    "deterministic",
    shows_in=some_query(computing(("python",))),
)
