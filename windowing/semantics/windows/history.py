"""The history of a policy window: the operations on it, and what it shows in return."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Row = Mapping[str, Any]
Key = Hashable


@dataclass(frozen=True)
class Insert:
    """A tuple arrives."""

    row: Row


@dataclass(frozen=True)
class Mark:
    """A window punctuation arrives."""


@dataclass(frozen=True)
class Advance:
    """Time advances to an instant."""

    to_us: int


Operation = Insert | Mark | Advance
Kind = Literal[
    "flush",
    "trigger",
    "initialFull",
    "insert",
    "evict",
    "partitionEviction",
    "victim",
    "emptyWindowPunct",
]


@dataclass(frozen=True)
class Observation:
    """One thing that a window shows.

    Attributes:
        step: the number of the operation.
        at_us: when.
        kind: a flush or a report of the stored tuples; a tuple that was stored, or is about to
            leave; a partition eviction, then each of its victims.
        key: the partition; for a partition eviction, the victims in order.
        tuples: numbers of the stored tuples, oldest first; of a tuple that is stored or leaves,
            its own. Counted from 1 over all partitions.
        stored: of a tuple that is stored or leaves, all stored ones, if they are asked for.
    """

    step: int
    at_us: int
    kind: Kind
    key: Any
    tuples: tuple[int, ...]
    stored: tuple[int, ...] = field(default=(), compare=False)
