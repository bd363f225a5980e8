"""The functions of Aggregate, over the tuples of a group in order of arrival.

Source: Gedik 2014, section 6.1.1; names and rules of the functions: `spl.md` 10.1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from windowing.engine.rows.operators import totals
from windowing.engine.rows.operators.operator import Tuple
from windowing.engine.rows.policies.window import hashable
from windowing.model.operators.models import OperatorError

Arguments = Sequence[str]


@dataclass(frozen=True)
class Group:
    """The input of a function.

    Attributes:
        rows: the tuples of the group; at least one.
        sizes: how many tuples each group of the partition has.
        all_rows: how many tuples `CountAll` counts.
    """

    rows: Sequence[Tuple]
    sizes: Sequence[int]
    all_rows: int


@dataclass(frozen=True)
class Custom:
    """A function of the user's, which folds the tuples of a group in order of arrival.

    Attributes:
        init: returns the first state; it is called once for each group and report.
        process: returns the next state, from a state and a tuple.
        result: returns the output, from the last state.
    """

    init: Callable[[], Any]
    process: Callable[[Any, Tuple], Any]
    result: Callable[[Any], Any]

    def of(self, group: Group, _: Arguments) -> Any:
        """Compute the output of a group."""
        state = self.init()
        for row in group.rows:
            state = self.process(state, row)
        return self.result(state)


def _column(group: Group, name: str) -> list[Any]:
    return [row[name] for row in group.rows]


def by_element(values: Sequence[Any], function: Callable[[Sequence[Any]], Any]) -> Any:
    """Apply a function of numbers; to lists, which must be of one length, element by element."""
    if isinstance(values[0], list):
        return [function(column) for column in zip(*values, strict=True)]
    return function(values)


def average_of(values: Sequence[Any]) -> int | float:
    """Return the exact mean, of integers truncated toward zero."""
    return totals.mean(totals.add(None, values), len(values))


def _deviation(group: Group, name: str, less: int) -> float:
    """Return the standard deviation, over n − less; zero for one tuple."""
    column = _column(group, name)
    if len(column) <= less:
        return 0.0
    if not all(map(math.isfinite, column)):
        return math.nan
    values = [Fraction(value) for value in column]
    mean = sum(values) / len(values)
    squares = sum((value - mean) ** 2 for value in values)
    return math.sqrt(squares / (len(values) - less))


def sum_of(values: Sequence[Any]) -> Any:
    """Return the exact sum of numbers, or strings joined."""
    if isinstance(values[0], str):
        return "".join(values)
    return totals.rounded(totals.add(None, values))


def _extreme(pick: Callable[[Any], Any]) -> Callable[[Group, Arguments], Any]:
    return lambda group, names: by_element(_column(group, names[0]), pick)


def _arg(pick: Callable[..., Any]) -> Callable[[Group, Arguments], Any]:
    """Return the second attribute of the first tuple whose first one is extreme."""

    def of(group: Group, names: Arguments) -> Any:
        return pick(group.rows, key=lambda row: row[names[0]])[names[1]]

    return of


def _collect_arg(pick: Callable[[Any], Any]) -> Callable[[Group, Arguments], Any]:
    def of(group: Group, names: Arguments) -> Any:
        extreme = pick(_column(group, names[0]))
        return _distinct([row[names[1]] for row in group.rows if row[names[0]] == extreme])

    return of


def _count_extreme(pick: Callable[[Any], Any]) -> Callable[[Group, Arguments], Any]:
    def of(group: Group, names: Arguments) -> Any:
        values = _column(group, names[0])
        return values.count(pick(values))

    return of


def percentile_of(ordered: Sequence[Any], percentage: str) -> Any:
    """Return the percentile by nearest rank of values in ascending order."""
    above, below = _ratio(percentage)
    rank = -(-above * len(ordered) // below)
    return ordered[max(rank, 1) - 1]


@lru_cache(maxsize=64)
def _ratio(percentage: str) -> tuple[int, int]:
    return (Fraction(percentage) / 100).as_integer_ratio()


def _percentile(group: Group, names: Arguments) -> Any:
    return percentile_of(sorted(_column(group, names[0])), names[1])


def _distinct(values: Sequence[Any]) -> list[Any]:
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(hashable(value), value)
    return list(found.values())


Function = Callable[[Group, Arguments], Any]

FUNCTIONS: dict[str, tuple[int, Function]] = {
    "Count": (0, lambda group, _: len(group.rows)),
    "CountAll": (0, lambda group, _: group.all_rows),
    "CountGroups": (0, lambda group, _: len(group.sizes)),
    "CountByGroup": (0, lambda group, _: list(group.sizes)),
    "Any": (1, lambda group, names: group.rows[-1][names[0]]),
    "First": (1, lambda group, names: group.rows[0][names[0]]),
    "Last": (1, lambda group, names: group.rows[-1][names[0]]),
    "Collect": (1, lambda group, names: _column(group, names[0])),
    "CollectDistinct": (1, lambda group, names: _distinct(_column(group, names[0]))),
    "CountDistinct": (1, lambda group, names: len(_distinct(_column(group, names[0])))),
    "CountByDistinct": (
        1,
        lambda group, names: [*Counter(map(hashable, _column(group, names[0]))).values()],
    ),
    "Sum": (1, lambda group, names: by_element(_column(group, names[0]), sum_of)),
    "Average": (1, lambda group, names: by_element(_column(group, names[0]), average_of)),
    "Min": (1, _extreme(min)),
    "Max": (1, _extreme(max)),
    "ArgMin": (2, _arg(min)),
    "ArgMax": (2, _arg(max)),
    "CollectArgMin": (2, _collect_arg(min)),
    "CollectArgMax": (2, _collect_arg(max)),
    "MinCount": (1, _count_extreme(min)),
    "MaxCount": (1, _count_extreme(max)),
    "SampleStdDev": (1, lambda group, names: _deviation(group, names[0], 1)),
    "PopulationStdDev": (1, lambda group, names: _deviation(group, names[0], 0)),
    "Percentile": (2, _percentile),
}
"""Functions by name, with their numbers of arguments; Percentile's includes the percentage."""


def function_of(name: str | Custom, arguments: Arguments) -> Function:
    """Return a function by name, or the user's.

    Raises:
        OperatorError: it is unknown, or takes another number of arguments.
    """
    if isinstance(name, Custom):
        return _custom(name, arguments)
    if name not in FUNCTIONS:
        msg = f"{name} is no function of Aggregate: there are {', '.join(FUNCTIONS)}"
        raise OperatorError("UNKNOWN_FUNCTION", msg)
    wanted, function = FUNCTIONS[name]
    if len(arguments) != wanted:
        msg = f"{name}({', '.join(arguments)}): it takes {wanted} arguments, not {len(arguments)}"
        raise OperatorError("WRONG_ARGUMENTS", msg)
    return function


def _custom(function: Custom, arguments: Arguments) -> Function:
    if arguments or not all(map(callable, (function.init, function.process, function.result))):
        msg = "Custom takes three functions, and no attributes: `process` reads them from the tuple"
        raise OperatorError("CUSTOM", msg)
    return function.of
