"""What can become of a record that was read: each fate once, as data that every count folds over.

A record has one fate in each query, so what was read is the sum of all fates. Columns of tables,
printed sums, verdicts and expectations take names and order from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

READ: Final = "read"
"""The column of what was read: the sum of all fates."""


@dataclass(frozen=True)
class Fate:
    """One fate.

    Attributes:
        name: in counts, and of its column in the table of metrics.
        meaning: what has become of such a record, in words.
        buries: each such record is a dead letter. Its count is then that of the letters.
        beside: it is counted beside the sum: such a record has another fate, too.
    """

    name: str
    meaning: str
    buries: bool = False
    beside: bool = False


APPLIED: Final = Fate("applied", "taken by at least one window, open or closed")
OUTSIDE: Final = Fate("outside", "in no window: before the origin, or in a gap")
FILTERED: Final = Fate("filtered", "not taken by the source's `where`")
DUPLICATE: Final = Fate("duplicates", "one of the same identity was kept shortly before")
DROPPED: Final = Fate("dropped", "late, under the policy `drop`")
DEAD: Final = Fate("dead", "dead letters: bad values, after the end, late, out of retention", True)

WARNED: Final = "warned:"
"""How names of counts begin that are beside the sum: of records that break a rule, and go on."""

BY_WINDOWS: Final = (APPLIED, OUTSIDE, DROPPED, DEAD)
"""What a query's windows make of the records that reach them."""


Fates = tuple[Fate, ...]
"""What can become of the records of a source, in the order of sums and columns."""


def names(fates: Fates) -> tuple[str, ...]:
    """Return the names of fates."""
    return tuple(fate.name for fate in fates)


def withheld(fates: Fates) -> tuple[str, ...]:
    """Return the names of those that keep a record from windows, and let it move progress."""
    return tuple(fate.name for fate in fates if fate not in BY_WINDOWS and not fate.beside)


def before_windows(fates: Fates) -> Fates:
    """Return those that windows have no part in, so that all queries count the same."""
    return tuple(fate for fate in fates if fate not in BY_WINDOWS)


def counted(fates: Fates) -> tuple[str, ...]:
    """Return the columns of metrics that count records.

    They are what was read, and the fates without dead letters, which are counted themselves.
    """
    return (READ, *(fate.name for fate in fates if not fate.buries))


@dataclass(frozen=True)
class Counts(Mapping[str, int]):
    """What became of one query's records: the number of each fate, by its name.

    Attributes:
        read: data records, including bad values, excluding control records.
        by_fate: the numbers, in the order of the fates.
        beside: the names of those that are no part of the sum.
    """

    read: int
    by_fate: Mapping[str, int]
    beside: frozenset[str] = frozenset()

    @classmethod
    def of(cls, fates: Fates = BY_WINDOWS, read: int = 0, **numbers: int) -> Counts:
        """Return counts of records; a fate without a number has none."""
        by_fate = {name: numbers.pop(name, 0) for name in names(fates)} | numbers
        return cls(read, by_fate, _beside(fates))

    @classmethod
    def in_row(cls, fates: Fates, row: Mapping[str, int]) -> Counts:
        """Return the counts in a row of metrics, by the names of its columns."""
        return cls(row[READ], {name: row[name] for name in names(fates)}, _beside(fates))

    def __getitem__(self, name: str) -> int:
        return self.by_fate[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_fate)

    def __len__(self) -> int:
        return len(self.by_fate)

    @property
    def total(self) -> int:
        """The sum over all fates: what was read, if every record is accounted for."""
        return sum(number for name, number in self.items() if name not in self.beside)

    def plus(self, more: Counts) -> Counts:
        """Return the sum of two counts of the same fates."""
        sums = {name: number + more[name] for name, number in self.items()}
        return replace(self, read=self.read + more.read, by_fate=sums)

    def but(self, **numbers: int) -> Counts:
        """Return the counts with other numbers of some fates."""
        return replace(self, by_fate={**self.by_fate, **numbers})

    def since_added(self, longest: Counts) -> Counts:
        """Return what an added query counts of the whole log.

        Its own counts begin with the batch in which it was added. What came before is outside of
        its windows, unless it has a fate that is the same for all queries.

        Args:
            longest: the counts of the query that has read most.
        """
        own = names(BY_WINDOWS)
        same = {name: number for name, number in longest.items() if name not in own}
        found = replace(self, read=longest.read, by_fate={**self.by_fate, **same})
        return found.but(outside=found[OUTSIDE.name] + found.read - found.total)

    def __str__(self) -> str:
        shown = {name: f"{name} {number}" for name, number in self.items()}
        parts = " + ".join(text for name, text in shown.items() if name not in self.beside)
        others = "".join(f", {text}" for name, text in shown.items() if name in self.beside)
        return f"{READ} {self.read} = {parts}{others}"


def _beside(fates: Fates) -> frozenset[str]:
    return frozenset(fate.name for fate in fates if fate.beside)
