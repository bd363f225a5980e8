"""The simulated sink: tables that take a batch once, as the real table sink's do."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Item:
    """One thing in a table, with the batch that brought it."""

    batch: int
    content: Any


class Sink:
    """Tables of one run, each with the token of the last batch that it took."""

    def __init__(self) -> None:
        self.tables: dict[str, list[Item]] = defaultdict(list)
        self.tokens: dict[str, int] = {}

    def write(self, table: str, token: int, items: list[Item]) -> None:
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
