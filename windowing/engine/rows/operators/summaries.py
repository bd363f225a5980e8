"""Functions of Aggregate as summaries: computed while tuples arrive, without storing them.

Source: Gedik 2014, section 4.1.6. Tuples are folded in batches, because one call of `sum` or `min`
for many tuples is much faster than one per tuple; totals are exact, so batches do not show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from windowing.engine.rows.operators import totals
from windowing.engine.rows.operators.functions import Custom, average_of, by_element, sum_of
from windowing.engine.rows.operators.operator import Tuple
from windowing.engine.rows.policies.window import hashable
from windowing.engine.tuning import tuning

Arguments = Sequence[str]
FunctionCall = tuple[str | Custom, Arguments]
"""A function, by name or the user's own, and its arguments."""


class Sizes(NamedTuple):
    """How many tuples were summarized.

    Attributes:
        own: of the group.
        groups: of each group.
        all_rows: of the window, for `CountAll`.
    """

    own: int
    groups: Sequence[int]
    all_rows: int


@dataclass(frozen=True)
class Summary:
    """One function as a summary.

    Attributes:
        fold: from the state (None at first), tuples and the arguments to the next state, which is
            a plain value.
        value: the result.
    """

    fold: Callable[[Any, list[Tuple], Arguments], Any]
    value: Callable[[Any, Sizes], Any]


def _count(value: Callable[[Sizes], Any]) -> Summary:
    return Summary(lambda _state, _rows, _names: None, lambda _, sizes: value(sizes))


def _fold_total(state: Any, rows: list[Tuple], names: Arguments) -> Any:
    """Add numbers to an exact total; keep anything else, which Sum joins at the end."""
    (name,) = names
    values = [row[name] for row in rows]
    if isinstance(values[0], str | list):
        return [None, [*(state[1] if state else ()), *values]]
    return totals.add(state, values)


def _sum(state: Any, _: Sizes) -> Any:
    return by_element(state[1], sum_of) if state[0] is None else totals.rounded(state)


def _average(state: Any, sizes: Sizes) -> Any:
    if state[0] is None:
        return by_element(state[1], average_of)
    return totals.mean(state, sizes.own)


def _extreme(pick: Callable[[Any], Any]) -> Summary:
    def fold(state: Any, rows: list[Tuple], names: Arguments) -> Any:
        (name,) = names
        return [by_element([*(state or ()), *[row[name] for row in rows]], pick)]

    return Summary(fold, lambda state, _: state[0])


def _arg(pick: Callable[..., Any]) -> Summary:
    def fold(state: Any, rows: list[Tuple], names: Arguments) -> Any:
        of, shown = names
        best = pick(rows, key=lambda row: row[of])
        both = [*([state] if state else ()), [best[of], best[shown]]]
        return pick(both, key=lambda found: found[0])

    return Summary(fold, lambda state, _: state[1])


def _count_extreme(pick: Callable[[Any], Any]) -> Summary:
    def fold(state: Any, rows: list[Tuple], names: Arguments) -> Any:
        (name,) = names
        values = [row[name] for row in rows]
        before, times = state or (pick(values), 0)
        extreme = pick([before, *values])
        return [extreme, values.count(extreme) + (times if extreme == before else 0)]

    return Summary(fold, lambda state, _: state[1])


_LAST: Final = Summary(lambda _, rows, names: [rows[-1][names[0]]], lambda state, _: state[0])

SUMMARIES: Final[Mapping[str | Custom, Summary]] = {
    "Count": _count(lambda sizes: sizes.own),
    "CountAll": _count(lambda sizes: sizes.all_rows),
    "CountGroups": _count(lambda sizes: len(sizes.groups)),
    "CountByGroup": _count(lambda sizes: list(sizes.groups)),
    "Any": _LAST,
    "First": Summary(
        lambda state, rows, names: state or [rows[0][names[0]]], lambda state, _: state[0]
    ),
    "Last": _LAST,
    "Sum": Summary(_fold_total, _sum),
    "Average": Summary(_fold_total, _average),
    "Min": _extreme(min),
    "Max": _extreme(max),
    "ArgMin": _arg(min),
    "ArgMax": _arg(max),
    "MinCount": _count_extreme(min),
    "MaxCount": _count_extreme(max),
}
"""Functions whose state does not grow with the window (except sums of strings and of lists)."""


SummaryOf = tuple[str, Summary, Arguments]
"""The summary that computes an output: the output's name, the function, and its arguments."""


def summaries_of(called: Mapping[str, FunctionCall]) -> list[SummaryOf] | None:
    """Return the summaries of functions by output; None: some function has none."""
    if not all(name in SUMMARIES for name, _ in called.values()):
        return None
    return [(output, SUMMARIES[name], arguments) for output, (name, arguments) in called.items()]


class GroupSummaries:
    """The summary of a partition's tuples: per group its size, and a state per function.

    Args:
        outputs: the functions and their arguments, with the name of the output.
        group_by: attributes that group the tuples.
    """

    def __init__(self, outputs: Sequence[SummaryOf], group_by: Sequence[str]) -> None:
        self._outputs, self._group_by = outputs, group_by
        self._waiting: list[Tuple] = []
        self._waiting_max = tuning().folded_tuples
        self._groups: dict[Any, tuple[int, list[Any]]] = {}

    def open(self) -> None:
        """Do nothing: a new summary is empty."""

    def insert(self, row: Tuple) -> None:
        """Process a tuple."""
        waiting = self._waiting
        waiting.append(row)
        if len(waiting) >= self._waiting_max:
            self._fold()

    def close(self) -> None:
        """Do nothing: Aggregate asks for results before."""

    def destroy(self) -> None:
        """Do nothing: a summary holds no resources."""

    def results(self) -> Iterator[Tuple]:
        """Yield the output of each group, by first tuple."""
        self._fold()
        sizes = [size for size, _ in self._groups.values()]
        all_rows = sum(sizes)
        for size, states in self._groups.values():
            own = Sizes(size, sizes, all_rows)
            yield {
                name: summary.value(state, own)
                for (name, summary, _), state in zip(self._outputs, states, strict=True)
            }

    def _fold(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        by_group: dict[Any, list[Tuple]] = {}
        if self._group_by:
            for row in waiting:
                group = tuple(hashable(row[name]) for name in self._group_by)
                by_group.setdefault(group, []).append(row)
        else:
            by_group[()] = waiting
        for group, rows in by_group.items():
            size, states = self._groups.get(group) or (0, [None] * len(self._outputs))
            folded = [
                summary.fold(state, rows, arguments)
                for (_, summary, arguments), state in zip(self._outputs, states, strict=True)
            ]
            self._groups[group] = (size + len(rows), folded)

    def state(self) -> list[Any]:
        """Return its state, as plain values."""
        self._fold()
        return [[list(group), size, states] for group, (size, states) in self._groups.items()]

    def restore(self, state: list[Any]) -> None:
        """Restore a state."""
        self._waiting = []
        self._groups = {hashable(group): (size, list(states)) for group, size, states in state}
