"""Cases of GSN's sliding manager: recorded graphs and runs, and their judgement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, RootModel

from conformance.cases import OnRefusal, Verdict, read_rows, stop


class _GraphPart(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class CostCase(_GraphPart):
    """The cost of sigma dummies: `a + b * sigma`."""

    a: Fraction
    b: Fraction


class LimitsCase(_GraphPart):
    """The optimiser's limits."""

    theta_l: Fraction
    theta_g: Fraction
    cf: CostCase
    passes: PositiveInt | Literal["fix"]
    max_sigma: int | None


class StepCase(_GraphPart):
    """A query that joins or leaves, and the plain graph after it."""

    op: Literal["add", "remove"]
    slide: PositiveInt
    root: int | None
    dummy_root: int | None
    strong: dict[str, int]
    tests: str


class GraphCase(_GraphPart):
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


def read_graphs(path: Path, refused: OnRefusal = stop) -> Iterator[GraphCase]:
    """Read a file of graphs; see `read_rows`."""
    return read_rows(path, GraphCase, "not a case of a sliding graph", refused)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WindowCase(_Part):
    """What a query sees: the last tuples, or those of the last while."""

    kind: Literal["count", "time"]
    size: PositiveInt


class QueryCase(_Part):
    """A query.

    Attributes:
        join, leave: it is active from `join` until before `leave`, None: to the end; in positions,
            or in instants of the wall clock in mode `local`.
    """

    id: str
    slide: PositiveInt
    window: WindowCase
    join: int
    leave: int | None

    def active(self, where: int) -> bool:
        """Whether it is active there."""
        return self.join <= where and (self.leave is None or where < self.leave)


class TupleCase(_Part):
    """A tuple: its position, its time stamp, and when it came by the wall clock."""

    pos: int
    ts: int
    wall: int


class _Case(_Part):
    id: str
    queries: list[QueryCase]
    tuples: list[TupleCase]
    expected: dict[str, Any]


class CountCase(_Case):
    """Slides by number of tuples."""

    mode: Literal["count"]


class LocalCase(_Case):
    """Slides by a timer."""

    mode: Literal["local"]
    origin: int
    start: int
    until: int


class EventCase(_Case):
    """Slides by event time."""

    mode: Literal["event"]
    origin: int


class RemoteACase(_Case):
    """Slides by the source's time, driven by tuples."""

    mode: Literal["remote_a"]


class RemoteBCase(_Case):
    """Slides by the source's time, driven by timers."""

    mode: Literal["remote_b"]
    alpha: float
    lambda0: float
    until: int


FiringCase = Annotated[
    CountCase | LocalCase | EventCase | RemoteACase | RemoteBCase, Field(discriminator="mode")
]


class _Line(RootModel[FiringCase]):
    """A line of the file."""


def read_runs(path: Path, refused: OnRefusal = stop) -> Iterator[FiringCase]:
    """Read a file of runs; see `read_rows`."""
    for line in read_rows(path, _Line, "not a case of a sliding manager", refused):
        yield line.root


_TOLERANCE = 1e-6
_MISSING = "nothing"


def judge(
    case: GraphCase,
    found: Mapping[str, Mapping[str, Any]],
    steps: Sequence[Mapping[str, Any]],
    judged_by: str,
) -> Verdict:
    """Compare what a driver found with what a case expects.

    `found` has the plain graph and the optimised one, by the names of the file; `steps`, the plain
    graph after each step.
    """
    wanted = [
        *((part, values) for part, values in case.expected.items()),
        *(
            (f"step {number}", step.model_dump(exclude={"op", "slide"}))
            for number, step in enumerate(case.steps)
        ),
    ]
    ours = [*(found[part] for part in case.expected), *steps]
    for (part, values), got in zip(wanted, ours, strict=True):
        for name, value in values.items():
            if not _same(value, got.get(name, _MISSING)):
                difference = f"{part}.{name}: expected {value}, got {got.get(name, _MISSING)}"
                return Verdict(case.id, judged_by, difference)
    return Verdict(case.id, judged_by, None)


def judge_firings(case: FiringCase, found: Mapping[str, Any], judged_by: str) -> Verdict:
    """Compare the runs that a driver found with those that a case expects, in their order.

    `found` has the runs, and what else the case expects, by the names of the file.
    """
    for name, value in case.expected.items():
        difference = _difference(name, value, found.get(name, _MISSING))
        if difference is not None:
            return Verdict(case.id, judged_by, difference)
    return Verdict(case.id, judged_by, None)


def _difference(name: str, expected: Any, found: Any) -> str | None:
    if isinstance(expected, list) and isinstance(found, list):
        pairs = zip_longest(expected, found, fillvalue=_MISSING)
        parts = [(f"{name}[{number}]", *pair) for number, pair in enumerate(pairs)]
    elif isinstance(expected, dict) and isinstance(found, dict):
        keys = dict.fromkeys([*expected, *found])
        parts = [(f"{name}.{k}", expected.get(k, _MISSING), found.get(k, _MISSING)) for k in keys]
    else:
        same = _same(expected, found)
        return None if same else f"{name}: expected {expected}, got {found}"
    differences = (_difference(*part) for part in parts)
    return next((one for one in differences if one is not None), None)


def _same(expected: Any, found: Any) -> bool:
    if isinstance(expected, float) and isinstance(found, float):
        return abs(expected - found) <= _TOLERANCE
    return bool(expected == found)
