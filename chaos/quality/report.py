"""What the checks of one run came to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class QualityError(RuntimeError):
    """The checks could not be made: the folder of the Data Docs cannot be used."""

    exit_code = 1


@dataclass(frozen=True)
class QualityResult:
    """What one entry of the block came to.

    Attributes:
        query: whose rows were judged; None: the records of every query.
        expectation: its name.
        success: it was met; an expectation that could not be evaluated was not.
        detail: what was observed, in one line.
    """

    query: str | None
    expectation: str
    success: bool
    detail: str


@dataclass(frozen=True)
class QualityReport:
    """What all entries came to.

    Attributes:
        success: every expectation was met.
        results: by entry, in the order of the file.
        docs_index: the first page of the Data Docs.
        rows: how many the run has written for all queries, provisional ones too.
    """

    success: bool
    results: list[QualityResult]
    docs_index: Path
    rows: int

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        wrong = [f"{one.query or '-'} {one.expectation}" for one in self.results if not one.success]
        holding = f"{len(self.results) - len(wrong)} of {len(self.results)} expectations hold"
        return ", not ".join([holding, *wrong])
