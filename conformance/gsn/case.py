"""A recorded sliding graph: slides of queries, its optimisation, and changes at run time."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from conformance.case_lines import read_rows


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class CostCase(_Part):
    """The cost of sigma dummies: `a + b * sigma`."""

    a: Fraction
    b: Fraction


class LimitsCase(_Part):
    """The optimiser's limits."""

    theta_l: Fraction
    theta_g: Fraction
    cf: CostCase
    passes: PositiveInt | Literal["fix"]
    max_sigma: int | None


class StepCase(_Part):
    """A query that joins or leaves, and the plain graph after it."""

    op: Literal["add", "remove"]
    slide: PositiveInt
    root: int | None
    dummy_root: int | None
    strong: dict[str, int]
    tests: str


class GraphCase(_Part):
    """A graph as in the file.

    Attributes:
        kind: of the slides; queries with a count slide of 1 are not in the graph.
        slides: one for each query.
        expected: the plain graph and the optimised one.
    """

    id: str
    kind: Literal["count", "time"]
    slides: list[PositiveInt]
    params: LimitsCase
    expected: dict[Literal["plain", "optimised"], dict[str, Any]]
    steps: list[StepCase] = Field(default_factory=list)

    def in_graph(self, slide: int) -> bool:
        """Whether queries with a slide are in the graph, and not run for every tuple."""
        return not (self.kind == "count" and slide == 1)


def read_cases(path: Path) -> Iterator[GraphCase]:
    """Read a file of graphs.

    Raises:
        CaseError: the file cannot be read, or a line is not a case; with its number.
    """
    return read_rows(path, GraphCase, "not a case of a sliding graph")
