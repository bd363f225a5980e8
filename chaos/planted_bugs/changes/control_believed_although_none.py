"""A lane that believes bounds and ends although its source believes no control records.

Defect: `source.control: none` is read as `bounds`.
How one gets it: the rule is asked where changes are read, and nowhere else.
Expected: dead letters are missing, and lanes make progress by promises of nobody.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import with_gate
from windowing.engine.input.gate import Gate, Opened


class Credulous(Gate):
    """Believes bounds in any case."""

    def open(self, control: bytes) -> Opened:  # noqa: D102
        if self.rule.believe != "none":
            return super().open(control)
        rule = self.rule.model_copy(update={"believe": "bounds"})
        return Gate.open(replace(self, rule=rule), control)


BUG = planted_bug(
    with_gate("control_believed_although_none", Credulous),
    *("dead letters", "deterministic", "conservation", "progress", "closing"),
)
