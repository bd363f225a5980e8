"""Constraints on drawn cases; everything else is random."""

from __future__ import annotations

from dataclasses import dataclass, field

from windowing.model.registry import declared_names

KINDS = (
    *("sliding", "keyed sliding", "landmark", "rows in the log's order", "rows by event time"),
    *("slide by tuple", "slide by n", "slide by rank", "session", "session of rows"),
    *("cumulate", "cumulate local"),
    "calendar",
)
"""The classes of windows that a query may have."""

JOIN = "join"
"""The class of a pipeline that joins two topics instead of having queries."""

POLICY_JOIN = "join over policy windows"
"""The same with a policy window on each side."""

ASOF_JOIN = "as-of join"
"""The same that matches each left record with the newest right one; some of `JOIN` are, too."""

WINDOW_JOIN = "window join"
"""The same whose records meet in windows; some of `JOIN` are, too."""

JOINS = frozenset({JOIN, POLICY_JOIN, ASOF_JOIN, WINDOW_JOIN})

OPERATORS = "operators"
"""The class of a query with operators over policy windows."""

# Rows counted in order of arrival must arrive in one lane.
AS_THEY_ARRIVE = frozenset({"rows in the log's order", "slide by n", "session of rows"})
# Late records cannot update windows: they would renumber the rows.
NO_UPDATE = frozenset(
    {"rows in the log's order", "rows by event time", "slide by rank", "session of rows"}
)
LOCAL = frozenset({"calendar", "cumulate local"})
"""The classes of windows of local time."""
ORDER_FREE = LOCAL | {"sliding", "keyed sliding", "landmark", "cumulate", "session"}
"""The built-in classes whose windows do not depend on the order of records."""


def own_kinds() -> tuple[str, ...]:
    """Return the users' window classes, whose windows do not depend on the order of records."""
    return declared_names("window_draws")


def order_free(kind: str) -> bool:
    """Whether the windows of a class do not depend on the order of records."""
    return kind in ORDER_FREE or kind in own_kinds()


def _classes() -> tuple[str, ...]:
    rows = (*(OPERATORS,) * 5, POLICY_JOIN, WINDOW_JOIN)
    return (*KINDS, "sliding", "session", *(JOIN,) * 3, *rows, *own_kinds())


@dataclass(frozen=True)
class Wish:
    """The constraints on a case.

    Attributes:
        classes: the classes to draw from: some of `KINDS`, `JOINS`, `OPERATORS`, and users'
            classes; a class listed more often is drawn more often.
        number: whether some windows are over a plain number of the records; None: sometimes.
        wide: whether windows may be aligned at their starts, and discard or retract.
        provisional: whether early rows and idle lanes occur.
        bad_values: whether invalid values occur (times out of range and records after the end may
            occur in any case).
        queries_max: maximum number of queries.
        records_max: maximum number of records, unless the log is long.
        long: how often logs have hundreds of records, and most of their plans dozens of batches.
        crowded: how often logs of single queries have hundreds or thousands of keys.
        usual: how often pipelines are as most are; see `usual`.
        one_table: how often the rows of these go to one table.
        overflow: how often summed ints are near 2^63, so that sums leave int64 and come back.
        refusals: whether sources may be dense, sometimes with a hole, and shards may exceed their
            state limit.
        alike: how often a pipeline has more queries like one with sliding windows, which can share
            slices with it.
        same_class: whether all queries are of one class.
        types: how often there are decimals, bools, dates and timestamps among fields and keys.
        duplicates: how often sources say what a duplicate is.
        computed: how often they compute something of a record, and how often they have two topics.
        tables: how often a file has its own tables of the zones that it names, which are others
            than those installed.
        rows: how often some queries send rows of windows without records, or only rows that fulfil
            a condition.
    """

    classes: tuple[str, ...] = field(default_factory=_classes)
    number: bool | None = None
    wide: bool = True
    provisional: bool = True
    bad_values: bool = True
    queries_max: int = 5
    records_max: int = 40
    long: float = 0.05
    crowded: float = 0.25
    usual: float = 0.5
    one_table: float = 0.55
    overflow: float = 0.5
    refusals: bool = True
    alike: float = 0.35
    same_class: bool = False
    types: float = 0.3
    duplicates: float = 0.12
    computed: float = 0.15
    tables: float = 0.0
    rows: float = 0.25
