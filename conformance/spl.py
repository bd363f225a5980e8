"""Scenarios of policy windows, of operators over them, and of their configurations.

A row holds under one profile or both; each profile is judged separately. Where a row leaves the
order between partitions open, only the order within each partition is compared.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from conformance.cases import OnRefusal, Verdict, read_rows, stop
from windowing.model.windows.policy import PolicyError

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


def read_lines(path: Path, kind: type[Line], refused: OnRefusal = stop) -> Iterator[Line]:
    """Read a file of scenarios; see `read_rows`."""
    return read_rows(path, kind, f"no {kind.__name__}", refused)


Final = dict[str, list[int]]
DriveWindow = Callable[[WindowCase, str], tuple[Sequence[Logged], Final]]
DriveOperator = Callable[[OperatorCase, str], Sequence[Logged]]

_RELATIVE = 1e-6


def judge_window(case: WindowCase, drive: DriveWindow, judged_by: str) -> list[Verdict]:
    """Judge a scenario of a window, once for each profile under which it holds.

    `drive` runs it under a profile; it returns the events, and the tuples stored at the end.
    """
    return _by_profile(case, lambda profile: _window_difference(case, drive, profile), judged_by)


def judge_operator(case: OperatorCase, drive: DriveOperator, judged_by: str) -> list[Verdict]:
    """Judge a scenario of an operator, once for each profile under which it holds."""
    return _by_profile(case, lambda profile: _operator_difference(case, drive, profile), judged_by)


def first_failed(ways: Iterable[list[Verdict]]) -> list[Verdict]:
    """Return the verdicts of the first way that shows a difference; of none: those of the first."""
    passed = []
    for verdicts in ways:
        if any(one.difference is not None for one in verdicts):
            return verdicts
        passed.append(verdicts)
    return passed[0]


def _by_profile(
    case: WindowCase | OperatorCase, difference: Callable[[str], str | None], judged_by: str
) -> list[Verdict]:
    found = [(profile, difference(profile)) for profile in case.profiles]
    return [
        Verdict(case.id, f"{judged_by}, {profile}", None if case.informative else one)
        for profile, one in found
    ]


def _window_difference(case: WindowCase, drive: DriveWindow, profile: str) -> str | None:
    try:
        events, final = drive(case, profile)
    except PolicyError as refused:
        return None if case.construct_error else f"the window is refused: {refused}"
    if case.construct_error:
        return f"expected that the window is refused ({case.construct_error}), got one"
    expected = [_without_text(event) for event in case.expected]
    difference = _first(expected, events, _window_groups(case))
    if difference is None and case.final is not None and case.final != final:
        difference = f"stored at the end: expected {case.final}, got {final}"
    return difference


def _without_text(event: Logged) -> Logged:
    """Drop the message of an exception, which is the library's."""
    if event["event"] != "exception":
        return event
    return {name: event[name] for name in ("step", "event", "t") if name in event}


def _operator_difference(case: OperatorCase, drive: DriveOperator, profile: str) -> str | None:
    try:
        sent = drive(case, profile)
    except PolicyError as refused:
        return f"the operator is refused: {refused}"
    unordered = any(tag.endswith("_unspecified") for tag in case.tags)
    return _first(case.expected, sent, _by_step, as_sets=unordered)


def _window_groups(case: WindowCase) -> Callable[[Logged], tuple[Any, ...]]:
    if not case.cross_partition_order_unspecified:
        return _by_step
    return lambda event: (event["step"], str(event.get("partition")), str(event.get("pane")))


def _by_step(event: Logged) -> tuple[Any, ...]:
    return (event["step"],)


def _first(
    expected: Iterable[Logged],
    found: Iterable[Logged],
    group: Callable[[Logged], tuple[Any, ...]],
    *,
    as_sets: bool = False,
) -> str | None:
    wanted, got = _grouped(expected, group), _grouped(found, group)
    for place in sorted({*wanted, *got}, key=lambda place: (place[0], str(place[1:]))):
        left, right = wanted.get(place, []), got.get(place, [])
        if as_sets:
            left, right = sorted(left, key=_spelled), sorted(right, key=_spelled)
        for number in range(max(len(left), len(right))):
            one = left[number] if number < len(left) else None
            other = right[number] if number < len(right) else None
            if not _same(one, other):
                return f"step {place[0]}: expected {_spelled(one)}, got {_spelled(other)}"
    return None


def _grouped(
    events: Iterable[Logged], group: Callable[[Logged], tuple[Any, ...]]
) -> dict[tuple[Any, ...], list[Logged]]:
    groups: dict[tuple[Any, ...], list[Logged]] = {}
    for event in events:
        groups.setdefault(group(event), []).append(event)
    return groups


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        numbers = isinstance(one, int | float) and isinstance(other, int | float)
        return numbers and math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_RELATIVE)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _spelled(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
