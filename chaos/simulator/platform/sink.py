"""The simulated sink: tables that take a batch once, as the real table sink's do."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

Ends = tuple[int, ...]
"""The plan of a batch: per lane, how many records there are up to its end."""


@dataclass(frozen=True)
class TableItem:
    """One thing in a table, with the batch that brought it."""

    batch: int
    content: Any


@dataclass(frozen=True)
class TableBackup:
    """All of a table: what a restored backup holds."""

    items: list[TableItem]
    token: int
    plans: dict[int, Ends]


class SimulatedSink:
    """Tables of one run, each with the token of the last batch that it took.

    Attributes:
        tables: what they hold.
        tokens: by table, the last batch.
        plans: by table and batch, which part of the log the batch brought.
    """

    def __init__(self) -> None:
        self.tables: dict[str, list[TableItem]] = defaultdict(list)
        self.tokens: dict[str, int] = {}
        self.plans: dict[str, dict[int, Ends]] = defaultdict(dict)

    def write(self, table: str, token: int, items: list[TableItem]) -> None:
        """Append a batch's part to a table, in one transaction with its token.

        Args:
            table: its name.
            token: the batch; a table that holds it already, or a later one, is left as it is.
            items: what to append.
        """
        if self.tokens.get(table, -1) >= token:
            return
        self.tables[table] += items
        self.tokens[table] = token

    def lose(self, table: str) -> TableBackup:
        """Lose a table with everything that it says; give what a backup has of it."""
        return TableBackup(
            self.tables.pop(table, []), self.tokens.pop(table, -1), self.plans.pop(table, {})
        )

    def put_back(self, table: str, copy: TableBackup) -> None:
        """Restore a table from its backup."""
        self.tables[table], self.tokens[table] = copy.items, copy.token
        self.plans[table] = copy.plans
