"""A lane that takes queries with one window more at once than are permitted.

Defect: the limit of a query's windows for a record is one too large.
How one gets it: the windows are counted from zero.
Expected: a query joins, and its copy is no dead letter.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import believing
from windowing.model.control import WINDOWS_MAX

BUG = planted_bug(
    believing("one_window_too_many", {"windowing.model.file.allowed:WINDOWS_MAX": WINDOWS_MAX + 1}),
    *("dead letters", "deterministic", "conservation"),
)
