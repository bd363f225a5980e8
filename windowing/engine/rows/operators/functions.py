"""The functions of Aggregate, over the tuples of a group in order of arrival.

Source: Gedik 2014, section 6.1.1; names and rules of the functions: `spl.md` 10.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from windowing.engine.rows.operators import totals
from windowing.engine.rows.operators.operator import OperatorError, Tuple
from windowing.engine.rows.operators.percentiles import percentile

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


def _column(group: Group, name: str) -> list[Any]:
    return [row[name] for row in group.rows]


def _average(group: Group, name: str) -> int | float:
    values = _column(group, name)
    return totals.mean(totals.add(None, values), len(values))


def _deviation(group: Group, name: str, less: int) -> float:
    """Return the standard deviation, over n − less; zero for one tuple."""
    values = [Fraction(value) for value in _column(group, name)]
    if len(values) <= less:
        return 0.0
    mean = sum(values) / len(values)
    squares = sum((value - mean) ** 2 for value in values)
    return math.sqrt(squares / (len(values) - less))


def _sum(group: Group, name: str) -> Any:
    values = _column(group, name)
    if isinstance(values[0], list):
        return [sum(column) for column in zip(*values, strict=True)]
    if isinstance(values[0], str):
        return "".join(values)
    return totals.rounded(totals.add(None, values))


def _extreme(pick: Callable[[Any], Any]) -> Callable[[Group, Arguments], Any]:
    """Return the smallest or largest value; of lists, element by element."""

    def of(group: Group, names: Arguments) -> Any:
        values = _column(group, names[0])
        if isinstance(values[0], list):
            return [pick(column) for column in zip(*values, strict=True)]
        return pick(values)

    return of


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


def _percentile(group: Group, names: Arguments) -> Any:
    return percentile(sorted(_column(group, names[0])), names[1])


def _distinct(values: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


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
        lambda group, names: [
            _column(group, names[0]).count(value) for value in _distinct(_column(group, names[0]))
        ],
    ),
    "Sum": (1, lambda group, names: _sum(group, names[0])),
    "Average": (1, lambda group, names: _average(group, names[0])),
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


def function_of(name: str, arguments: Arguments) -> Function:
    """Return a function by name.

    Raises:
        OperatorError: it is unknown, or takes another number of arguments.
    """
    if name not in FUNCTIONS:
        msg = f"{name} is no function of Aggregate: there are {', '.join(FUNCTIONS)}"
        raise OperatorError("UNKNOWN_FUNCTION", msg)
    wanted, function = FUNCTIONS[name]
    if len(arguments) != wanted:
        msg = f"{name}({', '.join(arguments)}): it takes {wanted} arguments, not {len(arguments)}"
        raise OperatorError("WRONG_ARGUMENTS", msg)
    return function
