"""Compare two engines on one input: which reports differ, and which parameters explain it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from windowing.research.engines.parameters import Behaviour, Domain, StreamTuple, Windows
from windowing.research.engines.profiles import Profile
from windowing.research.engines.simulation import SimulatedReport, simulate

_TITLES = {
    "start": "start of windows",
    "tick": "tick",
    "report": "report",
    "pick": "pick",
    "flush": "flush at the end of the input",
    "delay": "watermark's delay",
    "lower_bound_closes": "rounding of the simulator",
}
"""The parameters of an engine, for people; all except the start are fields of `Behaviour`."""


class EmptyInputError(ValueError):
    """An input without tuples."""

    exit_code = 2


@dataclass(frozen=True)
class Configuration:
    """An engine with the windows that are asked of it."""

    windows: Windows
    behaviour: Behaviour

    def run(self, stream: Sequence[StreamTuple]) -> list[SimulatedReport]:
        """Return the reports of the engine."""
        return simulate(self.behaviour, self.windows, stream)

    def value(self, parameter: str) -> object:
        """Return the value of a parameter."""
        if parameter == "start":
            return self.windows.start
        return getattr(self.behaviour, parameter)

    def taking(self, parameters: Collection[str], other: Configuration) -> Configuration:
        """Return this engine with some parameters of another one.

        Raises:
            ValueError: they have no meaning together.
        """
        start = other.windows.start if "start" in parameters else self.windows.start
        changes = {name: getattr(other.behaviour, name) for name in parameters if name != "start"}
        return Configuration(replace(self.windows, start=start), replace(self.behaviour, **changes))


@dataclass(frozen=True)
class Parameter:
    """A parameter in which two engines differ.

    Attributes:
        left, right: its value in each engine.
    """

    title: str
    left: str
    right: str

    def __str__(self) -> str:
        return f"{self.title}: {self.left} | {self.right}"


@dataclass(frozen=True)
class Comparison:
    """What two engines report of one input.

    Attributes:
        both: pairs of reports with the same interval and content.
        only_left, only_right: the other reports.
        explained_by: the smallest sets of parameters of the right engine with which the left one
            reports what the right one does; one empty set if it does so anyway.
    """

    left: Sequence[SimulatedReport]
    right: Sequence[SimulatedReport]
    both: Sequence[tuple[SimulatedReport, SimulatedReport]]
    only_left: Sequence[SimulatedReport]
    only_right: Sequence[SimulatedReport]
    differing: Sequence[Parameter]
    explained_by: Sequence[Sequence[Parameter]]

    @property
    def equal(self) -> bool:
        """Whether both report the same, caused by the same tuples, in the same order."""
        return self.left == self.right

    @property
    def moved(self) -> list[tuple[SimulatedReport, SimulatedReport]]:
        """Pairs of equal reports that different tuples caused."""
        return [(one, other) for one, other in self.both if one.arrival != other.arrival]


def configured(
    profile: Profile, domain: Domain, size: int, slide: int, stream: Sequence[StreamTuple]
) -> Configuration:
    """Return an engine with windows whose start follows from the input.

    Raises:
        UnknownEngineError: the engine has no such windows.
        EmptyInputError: the input is empty.
    """
    if not stream:
        msg = "an input without tuples has no windows: give at least one tuple"
        raise EmptyInputError(msg)
    windows = profile.windows(domain, size, slide, stream[0].time)
    return Configuration(windows, profile.operator(domain).behaviour)


def compare(left: Configuration, right: Configuration, stream: Sequence[StreamTuple]) -> Comparison:
    """Run two engines on one input, and explain the difference."""
    ours, theirs = left.run(stream), right.run(stream)
    both, only_left, only_right = _matched(ours, theirs)
    differing = {
        name: Parameter(title, _spelled(left.value(name)), _spelled(right.value(name)))
        for name, title in _TITLES.items()
        if left.value(name) != right.value(name)
    }
    explained_by = [
        [differing[name] for name in names]
        for names in _explanations(left, right, [*differing], stream, theirs)
    ]
    return Comparison(
        ours, theirs, both, only_left, only_right, [*differing.values()], explained_by
    )


def _spelled(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _explanations(
    left: Configuration,
    right: Configuration,
    differing: Sequence[str],
    stream: Sequence[StreamTuple],
    wanted: Sequence[SimulatedReport],
) -> list[tuple[str, ...]]:
    """Return the smallest sets of parameters that make the left engine report as the right."""
    for size in range(len(differing) + 1):
        found = []
        for names in combinations(differing, size):
            try:
                hybrid = left.taking(names, right)
            except ValueError:  # such as a flush without reports of closed windows
                continue
            if hybrid.run(stream) == wanted:
                found.append(names)
        if found:
            return found
    msg = "an engine with all parameters of another one reports something else"
    raise AssertionError(msg)


def _matched(
    ours: Sequence[SimulatedReport], theirs: Sequence[SimulatedReport]
) -> tuple[
    list[tuple[SimulatedReport, SimulatedReport]], list[SimulatedReport], list[SimulatedReport]
]:
    """Pair reports with the same interval and content; return the pairs, and what is left over."""
    waiting = defaultdict(list)
    for report in theirs:
        waiting[_identity(report)].append(report)
    both, only_left = [], []
    for report in ours:
        same = waiting[_identity(report)]
        if same:
            both.append((report, same.pop(0)))
        else:
            only_left.append(report)
    left_over = {id(report) for rest in waiting.values() for report in rest}
    return both, only_left, [report for report in theirs if id(report) in left_over]


def _identity(report: SimulatedReport) -> tuple[int, int, tuple[int, ...]]:
    return report.low, report.instant, report.content
