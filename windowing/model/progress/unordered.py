"""The generator that promises nothing."""

from __future__ import annotations

from dataclasses import dataclass

from windowing.model.facts import Facts
from windowing.model.progress.disorder import Disorder


@dataclass(frozen=True)
class Unordered(Disorder):
    """No promise at all: for windows in log order, which need none. It has no syntax."""

    name = "unordered"

    def facts(self) -> Facts:
        """Return the name alone."""
        return {"unordered": True}

    def explained(self, attribute: str, *, timed: bool) -> str:
        """Return a sentence about the bounds that remain: those of control records."""
        del attribute, timed
        return "the largest bound of its control records"
