"""The operators of a query, as data, each with its window.

A query is a chain of them: the tuples that one sends are the input of the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from windowing.model.fields import Aggregate
from windowing.model.types import Kind
from windowing.model.windows.policy import WindowClause

Direction = Literal["ascending", "descending"]
Comparator = Literal["<", "<=", "=", "!=", ">=", ">"]
Scalar = int | float | str | bool


@dataclass(frozen=True)
class Condition:
    """A comparison of a field with a constant, as in `cancelled = 1`; with null, false."""

    field: str
    comparator: Comparator
    constant: int | float | str


@dataclass(frozen=True)
class Punctuate:
    """Send a window punctuation after each tuple that fulfils a condition (SPL's Punctor)."""

    when: Condition


@dataclass(frozen=True)
class AggregateStep:
    """Aggregate the tuples of a window at each flush or report; the last step of a chain.

    Attributes:
        window: when to aggregate, and over which tuples.
        aggregates: in the order of a row's columns.
        group_by: fields that group the tuples of a window.
        partial_windows: also report a sliding window before it was first full.
        evicted_partitions: report partitions of a tumbling window as they are evicted.
    """

    window: WindowClause
    aggregates: tuple[Aggregate, ...]
    group_by: tuple[str, ...] = ()
    partial_windows: bool = False
    evicted_partitions: bool = False


@dataclass(frozen=True)
class SortStep:
    """Sort the tuples of a tumbling window, or a stream within a sliding one.

    Attributes:
        window: the tuples to sort together.
        by: fields and directions, the most significant first.
    """

    window: WindowClause
    by: tuple[tuple[str, Direction], ...]


@dataclass(frozen=True)
class DedupStep:
    """Send a tuple only if no earlier tuple of its window equals it.

    Attributes:
        window: sliding, with the trigger count(1): the tuples to compare with, sent or not.
        by: the fields that are equal in duplicates.
    """

    window: WindowClause
    by: tuple[str, ...]


@dataclass(frozen=True)
class UserStep:
    """A user's operator: `module:Class`, imported only to run or check it.

    Attributes:
        window: the window whose events it handles.
        outputs: the fields of the tuples that it sends, with their types; any may be null.
        settings: arguments of the class, by name.
    """

    window: WindowClause
    reference: str
    outputs: tuple[tuple[str, Kind], ...]
    settings: tuple[tuple[str, Scalar], ...] = ()


WindowStep = AggregateStep | SortStep | DedupStep | UserStep
Step = Punctuate | WindowStep
