"""Duplicates in a lane: which records repeat an earlier one, and what the lane remembers for that.

Whether a record is kept depends on those before it that were, so records of one identity are judged
one by one. Most identities come once: those are found by column, and kept.

What is remembered is a table of identities and times, in the order in which records were kept. It
is bounded by `within`: `windowing/model/duplicates.py` has the proof of what can be forgotten.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from dataclasses import replace

import numpy as np
import polars as pl

from windowing.engine.columns import FATE, TIME, field_column
from windowing.engine.progress.clock import ClockState, Rows, event_time_clock
from windowing.engine.storage.frames import from_bytes, to_bytes
from windowing.engine.storage.state import StateStore
from windowing.engine.wids import ENDED, Flags, Ints, lowered
from windowing.model.duplicates import Duplicates
from windowing.model.fates import DUPLICATE
from windowing.model.lengths import INT64_MIN
from windowing.model.source import Source

KEPT = "kept"
"""The key of what a lane remembers, in its store."""

_GROUP, _ROW, _NEAR = "group", "row", "near"


class LaneDuplicates:
    """Withholds the duplicates of one lane from windows.

    Args:
        rule: of its source.
        number: the lane's.
    """

    def __init__(self, rule: Duplicates, source: Source, number: int) -> None:
        self._rule, self._clock = DuplicateRule(rule), event_time_clock(source, number)

    def withheld(self, rows: Rows, time: ClockState, store: StateStore) -> Rows:
        """Return the rows of a chunk with their duplicates withheld; the store is updated.

        Args:
            time: the state of the lane's clock of event time before the chunk.
        """
        progress_us, stored = self._clock.of_lane(rows, time), store.get(KEPT)
        seen = np.ones(len(rows.data), bool) if rows.withheld is None else ~rows.withheld
        earlier = None if stored is None else from_bytes(stored)
        before_us = progress_us[:-1][rows.is_data]
        repeats, kept = self._rule.found(rows.data, before_us, seen, earlier)
        needed = self._rule.needed(kept, int(progress_us[-1]))
        if earlier is None or len(kept) > len(earlier) or len(needed) < len(kept):
            store.put(KEPT, to_bytes(needed))
        if not repeats.any():
            return rows
        why = pl.when(pl.Series(repeats)).then(pl.lit(DUPLICATE.name))
        known = pl.col(FATE) if FATE in rows.data.columns else pl.lit(None, dtype=pl.String)
        data = rows.data.with_columns(why.otherwise(known).alias(FATE))
        return replace(rows, data=data, withheld=~seen | repeats)


class DuplicateRule:
    """Finds duplicates among the records of one lane."""

    def __init__(self, rule: Duplicates) -> None:
        self._by, self._within_us = [field_column(name) for name in rule.by], rule.within_us

    def found(
        self, records: pl.DataFrame, progress_us: Ints, seen: Flags, kept: pl.DataFrame | None
    ) -> tuple[Flags, pl.DataFrame]:
        """Return which records are duplicates, and all that were kept.

        Args:
            records: the lane's next ones.
            progress_us: the lane's progress before each.
            seen: which of them nothing else withholds.
            kept: what earlier records have left; None: nothing.
        """
        candidates = records.select(
            *self._by,
            TIME,
            pl.int_range(pl.len(), dtype=pl.Int64).alias(_ROW),
            pl.Series(_NEAR, records[TIME].to_numpy() > lowered(progress_us, self._within_us)),
        ).filter(pl.Series(seen), *(pl.col(name).is_not_null() for name in self._by))
        if kept is None:
            kept = candidates.select(*self._by, TIME).clear()
        # The table may be long; of most identities in it, nothing comes any more.
        earlier = kept.join(candidates, on=self._by, how="semi")
        repeated = self._repeated(candidates, earlier)
        rows = candidates[_ROW].to_numpy()[repeated]
        is_duplicate = np.zeros(len(records), dtype=bool)
        is_duplicate[rows] = self._one_by_one(candidates.filter(pl.Series(repeated)), earlier)
        stays = pl.Series(~is_duplicate[candidates[_ROW].to_numpy()])
        return is_duplicate, pl.concat([kept, candidates.filter(stays).select(kept.columns)])

    def needed(self, kept: pl.DataFrame, progress_us: int) -> pl.DataFrame:
        """Return what later records may repeat, once the lane has reached some progress."""
        if progress_us == ENDED:
            return kept.clear()
        return kept.filter(pl.col(TIME) > max(progress_us - 2 * self._within_us, INT64_MIN))

    def _repeated(self, candidates: pl.DataFrame, earlier: pl.DataFrame) -> Flags:
        """Return which records have an identity that another one has, or one that was kept."""
        identity = candidates.select(self._by)
        known = identity.with_row_index(_ROW).join(earlier, on=self._by, how="semi")[_ROW]
        repeated = identity.is_duplicated().to_numpy().copy()
        repeated[known.to_numpy()] = True
        return repeated

    def _one_by_one(self, candidates: pl.DataFrame, earlier: pl.DataFrame) -> list[bool]:
        """Judge records in the order of the lane."""
        if candidates.is_empty():
            return []
        groups = candidates.select(self._by).unique().with_row_index(_GROUP)
        times = defaultdict[int, list[int]](list)
        known = earlier.join(groups, on=self._by, how="inner").select(_GROUP, TIME)
        for group, ts_us in known.sort(_GROUP, TIME).iter_rows():
            times[group].append(ts_us)
        numbered = candidates.join(groups, on=self._by, how="left", maintain_order="left")
        within_us, found = self._within_us, list[bool]()
        for group, ts_us, near in numbered.select(_GROUP, TIME, _NEAR).iter_rows():
            own = times[group]
            found.append(near and _is_close(own, ts_us, within_us))
            if not found[-1]:
                insort(own, ts_us)
        return found


def _is_close(times: list[int], ts_us: int, within_us: int) -> bool:
    """Return whether one of some sorted times lies less than a length away."""
    at = bisect_left(times, ts_us)
    after = at < len(times) and times[at] - ts_us < within_us
    return after or (at > 0 and ts_us - times[at - 1] < within_us)
