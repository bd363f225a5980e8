"""Lanes of a recorded log: how far their records lie behind, and which of them no window sees.

What a filter or a step of reading withholds, it always does. Duplicates depend on progress: how far
behind it a record may lie and still repeat another one. All of them move progress.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from windowing.engine.columns import FATE
from windowing.engine.duplicates import DuplicateRule
from windowing.engine.wids import NOTHING_YET, Flags, Ints
from windowing.model.source import Source


class Withheld:
    """Tells which records of a lane windows see."""

    def __init__(self, source: Source) -> None:
        rule = source.duplicates
        self.within_us = None if rule is None else rule.within_us
        """How far behind progress a record may lie and repeat another one; None: none does."""
        self._rule = None if rule is None else DuplicateRule(rule)

    def taken(self, lane: pl.DataFrame) -> Flags:
        """Return which records nothing withholds, but that they may be duplicates."""
        return lane[FATE].is_null().to_numpy() if FATE in lane.columns else np.ones(len(lane), bool)

    def seen(self, lane: pl.DataFrame, before_us: Ints) -> Flags:
        """Return which records windows see.

        Args:
            lane: its valid records, in the order of their offsets.
            before_us: the progress before each.
        """
        taken = self.taken(lane)
        if self._rule is None:
            return taken
        repeats, _ = self._rule.found(lane, before_us, taken, None)
        return taken & ~repeats


def where(lanes: Sequence[pl.DataFrame], chosen: Sequence[Flags]) -> pl.DataFrame:
    """Return some of the records of several lanes, lane by lane."""
    parts = zip(lanes, chosen, strict=True)
    return pl.concat(lane.filter(pl.Series(flags)) for lane, flags in parts)


def before(after: Ints) -> Ints:
    """Return what was reached before each record, from what is reached after it."""
    return np.concatenate(([np.int64(NOTHING_YET)], after[:-1]))


def newest(lane: pl.DataFrame) -> Ints:
    """Return the largest time before each record of a lane."""
    return before(np.maximum.accumulate(lane["ts_us"].to_numpy()))


def lags(lane: pl.DataFrame) -> Ints:
    """Return how far each record is behind the newest of its lane so far; 0: it is the newest."""
    ts_us = lane["ts_us"].to_numpy()
    behind: Ints = np.maximum.accumulate(ts_us) - ts_us
    return behind
