"""A lane that believes bounds and ends although its source believes no control records.

Defect: `source.control: none` is read as `bounds`.
How one gets it: the rule is asked where changes are read, and nowhere else.
Expected: dead letters are missing, and lanes make progress by promises of nobody.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import Misreading, with_gate


class Credulous(Misreading):
    """Believes bounds in any case."""

    said = "none"
    read = "bounds"


BUG = planted_bug(
    with_gate("control_believed_although_none", Credulous),
    *("dead letters", "deterministic", "conservation", "progress", "closing"),
)
