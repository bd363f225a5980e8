"""No promise at all."""

from __future__ import annotations

from dataclasses import dataclass

from windowing.model.facts import Facts
from windowing.model.progress.disorder import Disorder


@dataclass(frozen=True)
class Unordered(Disorder):
    """No promise at all: for windows in log order, which need none. No file spells it."""

    name = "unordered"

    def facts(self) -> Facts:
        """That there is none."""
        return {"unordered": True}

    def explained(self, attribute: str, *, timed: bool) -> str:
        """What remains: the bounds of control records."""
        del attribute, timed
        return "the largest bound of its control records"
