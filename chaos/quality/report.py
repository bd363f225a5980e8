"""The results of the checks of one run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


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
    """

    query: str | None
    expectation: str
    success: bool
    detail: str


@dataclass(frozen=True)
class QualityReport:
    """The results of all entries.

    Attributes:
        success: whether every expectation was met.
        results: by entry, in the order of the file.
        docs_index: the first page of the Data Docs.
        rows: number of rows written for all queries, including provisional ones.
    """

    success: bool
    results: list[QualityResult]
    docs_index: Path
    rows: int

    @property
    def sentence(self) -> str:
        """Return a summary in one sentence."""
        wrong = [f"{one.query or '-'} {one.expectation}" for one in self.results if not one.success]
        holding = f"{len(self.results) - len(wrong)} of {len(self.results)} expectations hold"
        return ", not ".join([holding, *wrong])
