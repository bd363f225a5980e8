"""A lane that gives a class of the file a field of another type than the file does.

Defect: which classes a query names is checked, and not what they are given.
How one gets it: a class that is known is taken to be right for everything.
Expected: a query joins, and its copy is no dead letter; the class may fail, and end the job.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import EVERYTHING, believing
from chaos.planted_bugs.conditions import computing, some_query
from windowing.model.file.allowed import _permits


def any_use(of: Any) -> Any:
    """Return what is permitted, and every field for its classes."""
    return replace(_permits(of), uses=EVERYTHING)


BUG = planted_bug(
    believing("class_over_another_type", {"windowing.model.file.allowed:_permits": any_use}),
    *("dead letters", "deterministic", "conservation", "no error"),
    shows_in=some_query(computing(("python",))),
)
