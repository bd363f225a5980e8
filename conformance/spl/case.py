"""Scenarios of policy windows, of operators over them, and of their configurations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from conformance.case_lines import case_lines, first_of
from conformance.wid.case import CaseError

RuleSet = Literal["both", "paper", "osstreams"]
Logged = dict[str, Any]
"""An event or an output, as in the file."""

_QUIRK = "implementation_quirk"


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    profile: RuleSet
    tags: list[str] = Field(default_factory=list)

    @property
    def profiles(self) -> list[str]:
        """The profiles under which the row must hold."""
        return ["paper", "osstreams"] if self.profile == "both" else [self.profile]

    @property
    def informative(self) -> bool:
        """Whether the scenario shows an accident of the library rather than a rule."""
        return _QUIRK in self.tags


class PolicyCase(BaseModel):
    """A policy as in the file."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    kind: str
    size: float | int = 0
    attr: str = ""
    selection: Any = None


class WindowCase(_Line):
    """A scenario of one window, with every event that it must log.

    Attributes:
        window: `tumbling`, `sliding` or `timeInterval`.
        interval: lengths of an interval window.
        input: operations, in the order in which they are applied.
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
    interval: dict[str, int] | None = None
    input: list[dict[str, Any]]
    expected: list[Logged]
    final: dict[str, list[int]] | None = None
    construct_error: Any = None
    cross_partition_order_unspecified: bool = False
    handler_duration: float | list[float] | None = None
    timed: bool = False


class PortCase(BaseModel):
    """The window of one input port of an operator."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    type: Literal["tumbling", "sliding"]
    eviction: PolicyCase
    trigger: PolicyCase | None = None
    partition_by: list[str] | None = None
    partition_eviction: PolicyCase | None = None


class OperatorCase(_Line):
    """A scenario of one operator, with its complete expected output."""

    operator: Literal["Aggregate", "Join", "Sort"]
    windows: list[PortCase]
    params: dict[str, Any]
    outputs: list[dict[str, Any]] = Field(default_factory=list)
    input: list[dict[str, Any]]
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
    for number, line in case_lines(path):
        try:
            yield kind.model_validate_json(line)
        except ValueError as error:
            msg = f"{path}:{number}: no {kind.__name__}: {first_of(error)}"
            raise CaseError(msg) from None
