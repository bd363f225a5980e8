"""The results of the checks of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_TO_PEOPLE: Final = ("severity", "notes", "description")
"""Arguments of every expectation that decide nothing."""


class QualityError(RuntimeError):
    """A folder of Data Docs that cannot be used, so that nothing could be checked."""

    exit_code = 1


@dataclass(frozen=True)
class QualityResult:
    """The result of one entry of the block.

    Attributes:
        query: the query whose rows were judged; None: the records of every query.
        expectation: its name.
        success: whether it was met; False if it could not be evaluated.
        detail: the observed value, in one line.
        threshold: the arguments in the file, in one line; None: it has none.
    """

    query: str | None
    expectation: str
    success: bool
    detail: str
    threshold: str | None = None

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        expected = self.expectation.removeprefix("expect_").replace("_", " ")
        given = f" ({self.threshold})" if self.threshold else ""
        met = "met" if self.success else "not met"
        return f"{self.query or 'every query'}: {met}: {expected}{given}: {self.detail}"


@dataclass(frozen=True)
class QualityReport:
    """The results of all entries.

    Attributes:
        success: whether every expectation was met.
        results: by entry, in the order of the file.
        docs_index: the first page of the Data Docs.
        rows: number of rows written for all queries, including provisional ones.
        final_until: by query, the instant up to which the judged windows are final, as in
            `chaos.quality.finality`; None: not known.
    """

    success: bool
    results: list[QualityResult]
    docs_index: Path
    rows: int
    final_until: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """Return a summary in one sentence."""
        wrong = [f"{one.query or '-'} {one.expectation}" for one in self.results if not one.success]
        holding = f"{len(self.results) - len(wrong)} of {len(self.results)} expectations hold"
        return ", not ".join([holding, *wrong])


def threshold(arguments: Mapping[str, Any]) -> str | None:
    """Spell an entry's arguments in one line; None: it has none that decide anything."""
    named = [f"{name} {value}" for name, value in arguments.items() if name not in _TO_PEOPLE]
    return ", ".join(named) or None
