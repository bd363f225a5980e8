"""Deltas that an equal difference crosses.

Defect: `>=` instead of `>`.
How one gets it: a threshold is read as the first value outside.
Expected: windows by delta hold too little, or report too early.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.operator_conditions import some_operators, with_window
from chaos.planted_bugs.planted import planted
from windowing.engine.rows.policies.crossing import crosses
from windowing.engine.rows.policies.events import Row
from windowing.model.windows.policy import Delta


def crosses_inclusively(policy: Delta, new: Row, old: Row) -> bool:
    """Return whether a difference reaches the threshold."""
    name = policy.attribute
    return crosses(policy, new, old) or bool(
        new[name] > old[name] and new[name] - old[name] == policy.threshold
    )


BUG = planted_bug(
    planted(
        "equality_crosses",
        names={
            "windowing.engine.rows.policies.sliding:crosses": crosses_inclusively,
            "windowing.engine.rows.policies.tumbling:crosses": crosses_inclusively,
        },
    ),
    "deterministic",
    shows_in=some_operators(with_window(eviction=(Delta,))),
)
