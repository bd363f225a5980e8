"""A lane that takes queries with classes that only the log names.

Defect: which classes a query names is not checked.
How one gets it: a query of the log is read as one of the file, whose author may import anything.
Expected: a query joins, and its copy is no dead letter; the class, which is one of ours, is
imported.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import EVERYTHING, Everything, believing
from windowing.model.file.allowed import _permits

_HARMLESS = "chaos.simulator.draw.swing:Swing"


def every_class(of: Any) -> Any:
    """Return what is permitted, and every class that is there."""
    return replace(_permits(of), classes=_OURS, uses=EVERYTHING)


class Ours(Everything):
    """All classes that can be imported."""

    def __ge__(self, other: Any) -> bool:
        return set(other) <= {_HARMLESS}


_OURS: Any = Ours()


BUG = planted_bug(
    believing("class_of_the_log", {"windowing.model.file.allowed:_permits": every_class}),
    *("dead letters", "deterministic", "conservation", "no error"),
)
