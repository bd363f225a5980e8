"""A Sort that puts equal tuples in the opposite order of their arrival.

Defect: a tuple is inserted before those that equal it.
How one gets it: the other one of two functions of binary search.
Expected: of equal tuples the newest is sent first.
"""

from __future__ import annotations

from bisect import insort_left

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.operator_conditions import some_operators, with_window
from chaos.planted_bugs.planted import planted
from windowing.model.operators.steps import SortStep

BUG = planted_bug(
    planted(
        "sort_is_not_stable",
        names={"windowing.engine.rows.operators.sort:insort_right": insort_left},
    ),
    "deterministic",
    shows_in=some_operators(with_window("sliding", step=(SortStep,))),
)
