"""A lane that parses control records of any length.

Defect: no control record is too long.
How one gets it: the broker's limit is taken for enough.
Expected: dead letters are missing, or have another reason.
"""

from __future__ import annotations

from typing import Self

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import with_gate
from windowing.engine.input.gate import Gate
from windowing.model.control import ControlRule
from windowing.model.file.pipeline import Pipeline


class LengthlessRule(ControlRule):
    """Has no lengths."""

    def bytes_max(self, lanes: int, *, change: bool) -> int:  # noqa: D102
        del lanes, change
        return 1 << 40


class Patient(Gate):
    """Reads everything."""

    @classmethod
    def of(cls, pipeline: Pipeline, number: int) -> Self:  # noqa: D102
        known = Gate.of(pipeline, number)
        rule = LengthlessRule.model_construct(**dict(known.rule))
        return cls(rule, known.lane, known.lanes)


BUG = planted_bug(
    with_gate("control_of_any_length", Patient),
    *("dead letters", "deterministic", "conservation", "progress"),
)
