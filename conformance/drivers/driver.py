"""What every driver is: it runs a case in all ways in which it must be the same, or says why not.

A driver knows an engine, or the definition; a source's `judge` knows what is expected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from conformance.wid.judge import Verdict

Case_contra = TypeVar("Case_contra", contravariant=True)


@dataclass(frozen=True)
class Outcome:
    """How a case went.

    Attributes:
        verdicts: one for each that computed it, or for each profile under which it holds.
    """

    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True)
class NotExpressible:
    """That a driver cannot ask what a case asks.

    Attributes:
        why: in a few words.
    """

    why: str

    def line(self, case: str, driver: str) -> str:
        """One line of a report."""
        return f"{case}: not expressible: {self.why} (by {driver})"


class Driver(Protocol[Case_contra]):
    """Somebody who can compute a case."""

    @property
    def name(self) -> str:
        """Who that is, in words."""

    def run(self, case: Case_contra, /) -> Outcome | NotExpressible:
        """Compute a case, and compare it with what is expected."""
