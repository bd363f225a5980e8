"""The simulated sink: tables that accept a batch once, like those of the real table sink."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from chaos.simulator.history import SimulationHistory
from chaos.simulator.platform.spelling import DEAD, METRICS

Ends = tuple[int, ...]
"""The plan of a batch: the number of records of each lane up to its end."""


@dataclass(frozen=True)
class TableItem:
    """One entry of a table, with the batch that wrote it."""

    batch: int
    content: Any


class SimulatedSink:
    """Tables of one run, each with the token of the last batch that it took.

    Attributes:
        tables: the entries by table.
        tokens: the last batch by table.
        plans: by table and batch, the part of the log that the batch contained.
    """

    def __init__(self) -> None:
        self.tables: dict[str, list[TableItem]] = defaultdict(list)
        self.tokens: dict[str, int] = {}
        self.plans: dict[str, dict[int, Ends]] = defaultdict(dict)

    def write(self, table: str, token: int, items: list[TableItem]) -> None:
        """Append a batch's entries to a table, in one transaction with its token.

        Args:
            token: the batch; a table that already has it, or a later one, is left unchanged.
        """
        if self.tokens.get(table, -1) >= token:
            return
        self.tables[table] += items
        self.tokens[table] = token

    def begin_behind(self, batch: int, tables: Sequence[str]) -> None:
        """Let tables that are new begin behind a batch, of which they have no rows.

        Args:
            batch: the last batch; -1: there is none yet.
        """
        plans = {at: ends for own in self.plans.values() for at, ends in own.items()}
        for table in tables:
            if batch >= 0 and table not in self.tokens:
                self.tokens[table] = batch
                self.plans[table][batch] = plans[batch]

    def enter_into(self, history: SimulationHistory) -> None:
        """Enter what the tables hold into a history, batch by batch."""
        for table, items in self.tables.items():
            for item in items:
                batch = history.batches[item.batch]
                if table == METRICS:
                    batch.metrics.append(item.content)
                else:
                    (batch.dead if table == DEAD else batch.rows).append(item.content)

    def lost_and_named(self, table: str, named: Callable[[], Sequence[str]]) -> bool:
        """Lose a table, and put it back if the next driver names it; return whether it does.

        Args:
            named: returns the tables that a driver names when it starts.
        """
        items, token = self.tables.pop(table, []), self.tokens.pop(table, -1)
        plans = self.plans.pop(table, {})
        if table not in named():
            return False
        self.tables[table], self.tokens[table], self.plans[table] = items, token, plans
        return True
