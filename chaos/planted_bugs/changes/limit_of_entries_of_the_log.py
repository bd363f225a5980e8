"""A lane that takes queries with limits of entries of their own.

Defect: which limit a query has is not checked.
How one gets it: the limit is taken for a protection, and it ends the run.
Expected: a query joins, and its copy is no dead letter; the run stops where its state is full.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import EVERYTHING, believing
from windowing.model.file.allowed import _permits


def every_limit(of: Any) -> Any:
    """Return what is permitted, and every limit."""
    return replace(_permits(of), entries=EVERYTHING)


BUG = planted_bug(
    believing(
        "limit_of_entries_of_the_log", {"windowing.model.file.allowed:_permits": every_limit}
    ),
    *("dead letters", "deterministic", "conservation", "no error"),
)
