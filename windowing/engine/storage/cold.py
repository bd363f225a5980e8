"""The part of a shard's state that is not due for a while, and that its steps need not read.

With long windows or much disorder, most of the state waits for progress that is far away. What is
due after a *horizon* is *cold*: it lies in pieces that are appended and not read. Once progress
gets beyond it, everything is read and divided anew.

The horizon lies k steps ahead, if progress continues as in this step. Everything is then read once
in k steps, and every step reads what is due within them: of n instants at which something is due,
of which a step passes s, that is k s. With k = √(n / s), or √(n s) instants, both cost the same,
which is least together.

Source: Varghese and Lauck, "Hashed and hierarchical timing wheels", SOSP 1987, section 6
(hierarchies), with two levels; ours for states instead of timers.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt
from typing import NamedTuple

import msgspec
import numpy as np
import polars as pl

from windowing.engine.storage.frames import where
from windowing.engine.tuning import tuning
from windowing.engine.wids import ENDED, NOTHING_YET, Ints
from windowing.engine.windows.part import ShardPart, Tables, TellsDue


class Move(NamedTuple):
    """A step of progress, in the unit of its attribute."""

    before_us: int
    after_us: int


class ColdState(msgspec.Struct, array_like=True):
    """What a shard's head knows of its cold pieces.

    Attributes:
        horizon_us: by query, the progress after which cold state is due.
        due_us: by query, the earliest progress at which any of it is; without it, there is none.
    """

    pieces: int = 0
    horizon_us: dict[str, int] = {}
    due_us: dict[str, int] = {}

    def is_due(self, progress: Mapping[str, int]) -> bool:
        """Return whether any of it is due, given the progress of queries.

        Then all is read before the state is made new, though no query has rows: a piece may
        continue a session that would otherwise be over.
        """
        return any(
            query in self.due_us and reached >= self.due_us[query]
            for query, reached in progress.items()
        )

    def divide(
        self,
        parts: Mapping[str, ShardPart],
        held: Mapping[str, Tables],
        moved: Mapping[str, Move],
    ) -> tuple[dict[str, Tables], dict[str, Tables]]:
        """Divide tables of queries by their horizons, and note what gets cold.

        Args:
            held: what is not in cold pieces yet.
            moved: the progress of queries in this step.

        Returns:
            what stays, and what gets cold.
        """
        near, later = dict(held), dict[str, Tables]()
        for query, tables in held.items():
            part = parts[query]
            if not isinstance(part, TellsDue):
                continue
            due_us = {name: part.due_us(name, table) for name, table in tables.items()}
            if query not in self.horizon_us:
                horizon_us = _horizon(np.concatenate([*due_us.values()]), moved[query])
                if horizon_us is None:
                    continue
                self.horizon_us[query] = horizon_us
            is_cold = {name: due > self.horizon_us[query] for name, due in due_us.items()}
            least = [int(due_us[name][cold].min()) for name, cold in is_cold.items() if cold.any()]
            if least:
                near[query] = {name: where(table, ~is_cold[name]) for name, table in tables.items()}
                later[query] = {name: where(table, is_cold[name]) for name, table in tables.items()}
                self.due_us[query] = min(*least, self.due_us.get(query, least[0]))
        return near, later


def _horizon(due_us: Ints, moved: Move) -> int | None:
    """Return the instant until which state stays; None: dividing is not worth it."""
    if len(due_us) < tuning().cold_from_rows:
        return None
    instants = pl.Series(due_us).unique().sort().to_numpy()
    near = isqrt(len(instants) * _passed(instants, moved))
    return None if near * 2 >= len(instants) else int(instants[near])


def _passed(instants: Ints, moved: Move) -> int:
    """Return how many instants the next step passes if it moves like this one; at least one."""
    if moved.before_us == NOTHING_YET or moved.after_us == ENDED:
        return 1
    until_us = min(2 * moved.after_us - moved.before_us, ENDED)
    first, last = np.searchsorted(instants, [moved.after_us, until_us], side="right")
    return max(int(last - first), 1)
