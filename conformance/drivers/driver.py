"""Protocol of drivers: run a case in all ways that must agree, or say why it cannot be run.

A driver knows an engine or the definition; the `judge` of each format compares with expectations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from conformance.wid.judge import Verdict

Case_contra = TypeVar("Case_contra", contravariant=True)


@dataclass(frozen=True)
class Outcome:
    """The result of a case.

    Attributes:
        verdicts: one per engine that computed it, or per profile under which it holds.
    """

    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True)
class NotExpressible:
    """The answer of a driver that cannot express a case."""

    why: str

    def line(self, case: str, driver: str) -> str:
        """The answer as one line of a report."""
        return f"{case}: not expressible: {self.why} (by {driver})"


class Driver(Protocol[Case_contra]):
    """An engine, or the definition, that can compute a case."""

    @property
    def name(self) -> str:
        """The engine's name in reports."""

    def run(self, case: Case_contra, /) -> Outcome | NotExpressible:
        """Compute a case and compare the result with the expected one."""
