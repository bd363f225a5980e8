"""Scenarios of policy windows, of operators over them, and of their configurations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from conformance.case_lines import read_rows

RuleSet = Literal["both", "paper", "osstreams"]
Logged = dict[str, Any]
"""An event or an output, as in the file."""

_QUIRK = "implementation_quirk"


class _Strict(BaseModel):
    """Data whose unknown fields are an error: they might change what a row means."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _library_name(name: str) -> str:
    return to_camel(name).replace("Lhs", "LHS").replace("Rhs", "RHS")


class _LibraryModel(_Strict):
    """Data with the library's own names."""

    model_config = ConfigDict(alias_generator=_library_name)


class _Line(BaseModel):
    """One row; its other fields are annotations, which are not used."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    profile: RuleSet
    tags: list[str] = Field(default_factory=list)

    @property
    def profiles(self) -> list[str]:
        return ["paper", "osstreams"] if self.profile == "both" else [self.profile]

    @property
    def informative(self) -> bool:
        """Whether the scenario shows an accident of the library rather than a rule."""
        return _QUIRK in self.tags


class MarkCase(_Strict):
    """A user's selection of partitions: which of the candidates, and how many."""

    mark: Literal["oldest", "second", "largest", "all", "none"]
    n: int = 1


class PolicyCase(_Strict):
    """A policy as in the file."""

    kind: (
        Literal["count", "delta", "time", "punct"]
        | Literal["partitionCount", "tupleCount", "partitionAge"]
    )
    size: float | int = 0
    attr: str = ""
    selection: Literal["LRU", "LFU", "oldest"] | MarkCase | None = None


class IntervalCase(_LibraryModel):
    """The lengths of an interval window; null: the library's default."""

    interval_duration: int
    creation_period: int | None = None
    interval_offset: int = 0
    discard_age: int = 0


class InsertCase(_Strict):
    """A tuple arrives at a window."""

    op: Literal["insert"]
    partition: Any = None
    value: int | float
    value2: int | float | None = None


class PunctCase(_Strict):
    """A punctuation arrives, for an operator at a port."""

    op: Literal["punct"]
    punct: Literal["window", "final", "drain"]
    port: int = 0


class WatermarkCase(_Strict):
    """A watermark arrives at an interval window."""

    op: Literal["watermark"]
    value: int


class AdvanceCase(_Strict):
    """Time passes, in seconds."""

    op: Literal["advance"]
    to: float


class SavedCase(_Strict):
    """The window's state is saved under a name, or restored."""

    op: Literal["checkpoint", "restore"]
    name: str


class ResetCase(_Strict):
    """The window is emptied."""

    op: Literal["reset"]


class TupleCase(_Strict):
    """A tuple arrives at a port of an operator."""

    op: Literal["tuple"]
    port: int
    tuple: dict[str, Any]


WindowStep = Annotated[
    InsertCase | PunctCase | WatermarkCase | AdvanceCase | SavedCase | ResetCase,
    Field(discriminator="op"),
]
OperatorStep = Annotated[TupleCase | PunctCase | AdvanceCase, Field(discriminator="op")]


class WindowCase(_Line):
    """A scenario of one window, with every event that it must log.

    Attributes:
        expected: events, each with the `step` of its operation.
        final: the tuples of each partition at the end; None: not recorded.
        cross_partition_order_unspecified: only the order within a partition counts.
        handler_duration: seconds that handlers take.
        timed: events carry `t`.
    """

    window: Literal["tumbling", "sliding", "timeInterval"]
    partitioned: bool
    eviction: PolicyCase | None = None
    trigger: PolicyCase | None = None
    partition_eviction: PolicyCase | None = None
    summarizer: bool | None = False
    interval: IntervalCase | None = None
    input: list[WindowStep]
    expected: list[Logged]
    final: dict[str, list[int]] | None = None
    construct_error: Any = None
    cross_partition_order_unspecified: bool = False
    handler_duration: float | list[float] | None = None
    timed: bool = False


class PortCase(_Strict):
    """The window of one input port of an operator."""

    type: Literal["tumbling", "sliding"]
    eviction: PolicyCase
    trigger: PolicyCase | None = None
    partition_by: list[str] | None = None
    partition_eviction: PolicyCase | None = None


class ParamsCase(_LibraryModel):
    """The parameters of an operator, by the library's names."""

    group_by: list[str] = Field(default_factory=list)
    aggregate_incomplete_windows: bool | None = None
    aggregate_partial_windows: bool | None = None
    aggregate_evicted_partitions: bool | None = None
    sort_by: list[str] = Field(default_factory=list)
    order: list[str] = Field(default_factory=lambda: ["ascending"])
    algorithm: Literal["inner", "leftOuter", "rightOuter", "outer"] = "inner"
    equality_lhs: list[str] = Field(default_factory=list)
    equality_rhs: list[str] = Field(default_factory=list)
    match: str | None = None
    extra_output_ports: int = Field(default=0, alias="extra_output_ports")
    default_tuple_lhs: dict[str, Any] | None = None
    default_tuple_rhs: dict[str, Any] | None = None


class OutputCase(_Strict):
    """An output attribute of Aggregate."""

    name: str
    fn: str
    args: list[str]
    type: str | None = None


class OperatorCase(_Line):
    """A scenario of one operator, with its complete expected output."""

    operator: Literal["Aggregate", "Join", "Sort"]
    windows: list[PortCase]
    params: ParamsCase
    outputs: list[OutputCase] = Field(default_factory=list)
    input: list[OperatorStep]
    expected: list[Logged]


class ValidationCase(_Line):
    """A configuration that an operator accepts or rejects."""

    operator: Literal["Aggregate", "Join", "Sort"]
    config: dict[str, Any]
    accepted: bool
    reason: str | None = None


Line = TypeVar("Line", bound=_Line)


def read_lines(path: Path, kind: type[Line]) -> Iterator[Line]:
    """Read a file of scenarios.

    Raises:
        CaseError: the file cannot be read, or a line, given by number, is not such a scenario.
    """
    return read_rows(path, kind, f"no {kind.__name__}")
