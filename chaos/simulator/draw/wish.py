"""Constraints on drawn cases; everything else is left to chance."""

from __future__ import annotations

from dataclasses import dataclass, field

from windowing.model.registry import declared_names

KINDS = (
    *("sliding", "keyed sliding", "landmark", "rows in the log's order", "rows by event time"),
    *("slide by tuple", "slide by n", "slide by rank", "session", "session of rows"),
)
"""The classes of windows that a query may have."""

JOIN = "join"
"""The class of a pipeline that joins two topics instead of having queries."""

# Rows that are counted as they arrive must arrive in one lane.
AS_THEY_ARRIVE = frozenset({"rows in the log's order", "slide by n", "session of rows"})
# Late records cannot be shown later: they would renumber the rows.
NO_UPDATE = frozenset(
    {"rows in the log's order", "rows by event time", "slide by rank", "session of rows"}
)
ORDER_FREE = frozenset({"sliding", "keyed sliding", "landmark", "session"})
"""The built-in classes whose windows do not depend on the order of records."""


def own_kinds() -> tuple[str, ...]:
    """Return the users' window classes, whose windows do not depend on the order of records."""
    return declared_names("window_draws")


def order_free(kind: str) -> bool:
    """Whether the windows of a class do not depend on the order of records."""
    return kind in ORDER_FREE or kind in own_kinds()


def _classes() -> tuple[str, ...]:
    return (*KINDS, "sliding", "session", *(JOIN,) * 3, *own_kinds())


@dataclass(frozen=True)
class Wish:
    """The constraints on a case.

    Attributes:
        classes: where the classes of its windows are from: some of `KINDS`, `JOIN`, and those of
            users; the more often one is named, the more often it is drawn.
        number: some windows lie over a plain number of the records; None: now and then.
        wide: windows may be aligned at their starts, later rows may be discarding or retracting.
        provisional: early rows and idle lanes occur.
        bad_values: spoilt values occur (times out of range and records after the end may occur in
            any case).
        queries_max: the greatest number of queries.
        records_max: the greatest number of records, unless the log is long.
        long: how often logs have hundreds of records, and plans dozens of batches.
        overflow: how often sums of ints may leave 64 bits.
        refusals: sources may be dense, now and then with a hole, and shards may need more state
            than they may hold.
        same_class: all queries are of one class.
    """

    classes: tuple[str, ...] = field(default_factory=_classes)
    number: bool | None = None
    wide: bool = True
    provisional: bool = True
    bad_values: bool = True
    queries_max: int = 5
    records_max: int = 40
    long: float = 0.05
    overflow: float = 0.03
    refusals: bool = True
    same_class: bool = False
