"""Sliding and tumbling windows, and the evaluation of all windows that follow from values.

A partial state counts in the windows `w_first` to `w_last`, from its `release` on if it is late.
Records of one slice have the same first and last window, so the pair names the slice; a record that
is late for its first windows gets a later `w_first` and so its own partial state.

For an on-time partial (`release` ON_TIME), revision 0 of window w is due at `end(w)`. For a late
one, a revision is due at the late epoch `max(release, first epoch boundary after end(w))`: every
distinct epoch of a (window, key) is one revision, numbered from 1, and shows everything up to it.
Progress moving from P to P' emits the rows whose instant lies in (P, P'], by the progress of the
row's unit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from windowing.engine import wids
from windowing.engine.aggregates import Accumulators
from windowing.engine.columns import (
    AFTER,
    BEFORE,
    FIRST_WINDOW,
    INSTANT,
    KEY,
    LAST_WINDOW,
    PARTITION,
    RELEASE,
    RETRACTS,
    REVISION,
    WINDOW_ID,
    field_column,
)
from windowing.engine.effects import took_effect
from windowing.engine.progress.reached import AllEnded, Progress, per_row, stamped
from windowing.engine.storage.frames import where
from windowing.engine.tuning import tuning
from windowing.engine.wids import ENDED, ON_TIME, Ints, Numbering
from windowing.engine.windows.active import ActiveWindows
from windowing.engine.windows.empties import EmptyWindows
from windowing.engine.windows.evaluation import past_end
from windowing.engine.windows.intervals import content
from windowing.engine.windows.part import Tables, key_columns
from windowing.engine.windows.results import Results
from windowing.engine.windows.sliding_lane import PARTIALS
from windowing.model import Pipeline, Query
from windowing.model.rules import WINDOWS_MAX
from windowing.model.run_errors import TooManyWindows

LATE = pl.col(RELEASE) != ON_TIME
# Before all instants, including ON_TIME, which is the smallest number.
_EVER = pl.lit(None, dtype=pl.Int64)


class SlidingShardPart:
    """The shard's part: builds the rows of one query from its partial states.

    Args:
        numbering: the windows' numbering; None: that of the window language.
    """

    def __init__(
        self, query: Query, pipeline: Pipeline, numbering: Numbering | None = None
    ) -> None:
        self._query, self._numbering = query, numbering or wids.grid(query.window)
        self._active, activity = (
            ActiveWindows.of(query.window, self._numbering),
            query.window.active,
        )
        self._lacking = activity is not None and bool(activity.lacking)
        self._accumulators = Accumulators.of(query, pipeline.source)
        self._results = Results(query, self._accumulators)
        self._keys = key_columns(query)
        self._group = [*self._keys, WINDOW_ID]
        self._empties = EmptyWindows.of(query, self._numbering, self._keys, self._active)

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return the rows due while progress moves."""
        tables = self._with_rows(tables)
        found = [self._first_rows(tables, before, after), self._empty_rows(tables, before, after)]
        if self._query.late.policy == "update":
            found.append(self.revised(tables, before, after))
        found = [rows for rows in found if len(rows)]
        return pl.concat(found) if found else pl.DataFrame()

    def revised(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return the rows due while progress moves, those of revision 0 left out."""
        rows = self._rows_of(self._revisions(tables, before, after))
        if self._empties is None or not self._more or not len(rows):
            return rows
        taken_back = self._empties_taken_back(self._empties, tables, rows)
        return pl.concat([rows, taken_back]) if len(taken_back) else rows

    def _empty_rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return the rows of revision 0 of windows without records on time that end."""
        if self._empties is None:
            return pl.DataFrame()
        on_time = in_time(tables[PARTIALS])
        first, last = self._ended_between(on_time, before, after)
        last = self._empties.reached(on_time, after, last)
        gaps = self._empties.between(on_time, first, last)
        windows = self._empties.among(self._expanded(gaps).select(self._group))
        took_effect("rows without records", len(windows))
        return self._nothing(windows, tables, retracts=False)

    def _empties_taken_back(
        self, empties: EmptyWindows, tables: Tables, rows: pl.DataFrame
    ) -> pl.DataFrame:
        """Return the retractions of rows without records that first revisions replace."""
        first = rows.filter(pl.col(REVISION) == 1, ~pl.col(RETRACTS))
        names = dict.fromkeys(self._query.key)  # PATTR may be in group_by too
        keys = [first[KEY].struct.field(name).alias(field_column(name)) for name in names]
        windows = pl.DataFrame([*keys, first[WINDOW_ID]]).select(self._group)
        sent = empties.sent(in_time(tables[PARTIALS]), windows)
        return self._nothing(sent, tables, retracts=True)

    def _nothing(self, windows: pl.DataFrame, tables: Tables, *, retracts: bool) -> pl.DataFrame:
        """Return rows of windows that show no records."""
        if not len(windows):
            return pl.DataFrame()
        marked = first_revision(windows).with_columns(pl.lit(retracts).alias(RETRACTS))
        return self._results.of_none(marked, tables[PARTIALS].clear(), *self._more)

    def _rows_of(self, parts: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of merged states in each lane."""
        if not len(parts):
            return pl.DataFrame()
        parts = self._marked(parts)
        return self._results.of(parts, *self._more)

    @property
    def _more(self) -> tuple[str, ...]:
        return (RETRACTS,) if self._query.accumulation == "retracting" else ()

    def _marked(self, states: pl.DataFrame) -> pl.DataFrame:
        """Say of states that they take nothing back, unless they say so themselves."""
        if not self._more or RETRACTS in states.columns:
            return states
        # Even without retractions: frames of all shards are concatenated.
        return states.with_columns(pl.lit(value=False).alias(RETRACTS))

    def open(self, tables: Tables, after: Progress) -> pl.DataFrame:
        """Return the on-time content of open windows as rows; `revision` is undefined."""
        on_time = in_time(self._with_rows(tables)[PARTIALS])
        ended = np.minimum(self._numbering.ended_by(after.of(on_time)), ENDED - 1)
        first = pl.max_horizontal(FIRST_WINDOW, per_row(ended + 1))
        still = on_time.with_columns(first.alias(FIRST_WINDOW)).filter(
            pl.col(FIRST_WINDOW) <= pl.col(LAST_WINDOW)
        )
        parts = self._accumulators.merge(self._expanded(still), [*self._group, PARTITION])
        return self._results.of(first_revision(parts))

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """Return a lower bound of the next progress at which a row is due."""
        partials = self._there(tables[PARTIALS])
        due_us = self._next_end_us(in_time(partials), after)
        every_us = self._query.late.every_us
        if every_us is not None:
            late = stamped(partials.filter(LATE), after=after)
            waiting = late.filter(pl.col(AFTER) < self._boundary(late, LAST_WINDOW))
            due_us = min(due_us, self._next_boundary_us(waiting))
        return due_us

    def due_us(self, name: str, table: pl.DataFrame) -> Ints:
        """Return the end of each partial state's first window, or the epoch that it waits for.

        A window needs only partial states whose first window is not after it.
        """
        del name
        ends = self._numbering.ends(table[FIRST_WINDOW].to_numpy())
        due: Ints = np.maximum(ends, table[RELEASE].to_numpy())
        return due

    def retained(self, tables: Tables, after: Progress) -> Tables:
        """Return what rows after this progress can still need, merged where equal."""
        partials = self._there(tables[PARTIALS])
        first_kept = pl.col(FIRST_WINDOW).clip(per_row(self._gone(partials, after) + 1))
        kept = partials.with_columns(first_kept.alias(FIRST_WINDOW)).filter(
            pl.col(FIRST_WINDOW) <= pl.col(LAST_WINDOW)
        )
        if self._empties is not None:
            on_time = in_time(partials)
            callers = self._empties.callers(on_time, self._gone(on_time, after))
            kept = self._accumulators.concat([kept, callers])
        return {PARTIALS: self._merged(kept)}

    def _merged(self, partials: pl.DataFrame) -> pl.DataFrame:
        named = [*self._keys, FIRST_WINDOW, LAST_WINDOW, RELEASE, PARTITION]
        return self._accumulators.merge(partials, named)

    def _there(self, partials: pl.DataFrame) -> pl.DataFrame:
        return partials if self._active is None else self._active.shown(partials)

    def _with_rows(self, tables: Tables) -> Tables:
        """Return the content of windows that have rows: none while a lane may lack the query."""
        if self._active is None:
            return tables
        kept = self._there(tables[PARTIALS])
        return {**tables, PARTIALS: kept.clear() if self._lacking else kept}

    def _gone(self, units: pl.DataFrame, after: Progress) -> Ints:
        """Return the last window of each row's unit that can have no more rows."""
        past_us = wids.lowered(after.of(units), min(past_end(self._query), ENDED))
        return np.minimum(self._numbering.ended_by(past_us), ENDED - 1)

    def _ended_between(
        self, units: pl.DataFrame, before: Progress, after: Progress
    ) -> tuple[Ints, Ints]:
        """Return the first and last window of each row's unit that end while progress moves."""
        first = np.minimum(self._numbering.ended_by(before.of(units)), ENDED - 1) + 1
        return first, self._numbering.ended_by(after.of(units))

    def _due(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return the on-time partials of windows that end while progress moves, clipped."""
        on_time = in_time(tables[PARTIALS])
        first, last = self._ended_between(on_time, before, after)
        first = np.maximum(on_time[FIRST_WINDOW].to_numpy(), first)
        last = np.minimum(on_time[LAST_WINDOW].to_numpy(), last)
        windows = pl.Series(FIRST_WINDOW, first), pl.Series(LAST_WINDOW, last)
        return where(on_time.with_columns(windows), first <= last)

    def _first_rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return the rows of revision 0 of the windows that end while progress moves."""
        due = self._due(tables, before, after)
        first, last = due[FIRST_WINDOW], due[LAST_WINDOW]
        pairs = (last - first + 1).clip(lower_bound=0).sum()
        if (last > first).any() and pairs >= tuning().compiled_from_rows:
            from windowing.engine.windows.roll_up import rolled_up  # noqa: PLC0415 - loads numba

            merged = rolled_up(self._accumulators, due, self._keys)
            if merged is not None:
                marked = self._marked(first_revision(merged))
                return self._results.of_merged(marked, *self._more)
            # Slices in the same of these windows are merged once, not once per window.
            same = [*self._keys, FIRST_WINDOW, LAST_WINDOW, PARTITION]
            due = self._accumulators.merge(due, same)
        merged = self._accumulators.merge(self._expanded(due), [*self._group, PARTITION])
        return self._rows_of(first_revision(merged))

    def _revisions(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return revisions 1, 2, … whose late epoch lies in (before, after]."""
        late = self._pairs(tables, before, after)
        # Null is a key like any other; join and rank must treat it so.
        epochs = late.select(*self._group, INSTANT, BEFORE).unique().sort(INSTANT)
        epochs = epochs.with_columns(
            pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(self._group).alias(REVISION),
            previous=pl.col(INSTANT).shift(1).over(self._group).fill_null(ON_TIME),
        ).filter(pl.col(INSTANT) > pl.col(BEFORE))
        if not len(epochs):
            return epochs
        on_time = self._on_time_at(tables, epochs.select(self._group).unique())
        shown_before = on_time.with_columns(pl.lit(ON_TIME, dtype=pl.Int64).alias(INSTANT))
        held = self._accumulators.concat([part for part in (late, shown_before) if len(part)])
        due, named = self._sent(epochs), [*self._group, REVISION, RETRACTS, PARTITION]
        shown = due.join(held, on=self._group, how="inner", nulls_equal=True)
        new = pl.col("previous").is_null() | (pl.col(INSTANT) > pl.col("previous"))
        shown = shown.filter((pl.col(INSTANT) <= pl.col("epoch")) & new).drop("previous")
        return self._accumulators.merge(shown, [name for name in named if name in shown.columns])

    def _sent(self, epochs: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of epochs, each with the partials of (`previous`, `epoch`]."""
        due = epochs.drop(BEFORE).rename({INSTANT: "epoch"})
        match self._query.accumulation:
            case "discarding":
                return due
            case "accumulating":
                return due.with_columns(previous=_EVER)
        taken_back = due.with_columns(
            pl.col(REVISION) - 1,
            pl.lit(value=True).alias(RETRACTS),
            epoch=pl.col("previous"),
            previous=_EVER,
        )
        again = due.with_columns(pl.lit(value=False).alias(RETRACTS), previous=_EVER)
        return pl.concat([taken_back, again])

    def _pairs(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return late partials and their windows, with the `instant` of being shown there."""
        late = stamped(tables[PARTIALS].filter(LATE), before=before, after=after)
        pairs = self._expanded(late.filter(pl.col(RELEASE) <= pl.col(AFTER)))
        pairs = pairs.with_columns(self._boundary(pairs, WINDOW_ID).alias(INSTANT))
        return pairs.filter(pl.col(INSTANT) <= pl.col(AFTER))

    def _on_time_at(self, tables: Tables, windows: pl.DataFrame) -> pl.DataFrame:
        """Return the content of windows, per key, at revision 0."""
        on_time = in_time(tables[PARTIALS]).drop(RELEASE)
        return self._content(on_time, windows.sort(self._group), self._keys)

    def _boundary(self, late: pl.DataFrame, window_id: str) -> pl.Series:
        """Return the late epoch at which each late partial is released to a window."""
        every_us = self._query.late.every_us
        assert every_us is not None  # noqa: S101 - late partials exist under `update` only
        ends = self._numbering.ends(late[window_id].to_numpy())
        releases = np.maximum(wids.release_us(ends, every_us), late[RELEASE].to_numpy())
        return pl.Series(INSTANT, releases)

    def _next_end_us(self, on_time: pl.DataFrame, after: Progress) -> int:
        """Return the earliest end of an open window that holds any of these."""
        ended = np.minimum(self._numbering.ended_by(after.of(on_time)), ENDED - 1)
        last = on_time[LAST_WINDOW].to_numpy()
        open_ = (last if self._empties is None else self._empties.called_by(on_time)) > ended
        first = np.maximum(on_time[FIRST_WINDOW].to_numpy(), ended + 1)
        return self._numbering.first_end(first[open_])

    def _next_boundary_us(self, waiting: pl.DataFrame) -> int:
        """Return a lower bound of the instants at which these late partials make rows due."""
        every_us = self._query.late.every_us
        if every_us is None or not len(waiting):
            return ENDED
        # Every late instant is an epoch boundary: the next one is early enough.
        next_us = wids.release_us(waiting[AFTER].to_numpy(), every_us)
        return int(np.maximum(next_us, waiting[RELEASE].to_numpy()).min())

    def _content(
        self, partials: pl.DataFrame, windows: pl.DataFrame, unit: Sequence[str]
    ) -> pl.DataFrame:
        return content(self._accumulators, partials, windows, unit, [*self._keys, PARTITION])

    def _expanded(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Return one row per partial and window.

        Raises:
            TooManyWindows: there are more than a machine can hold.
        """
        last, first = (partials[name].cast(pl.Float64) for name in (LAST_WINDOW, FIRST_WINDOW))
        many = int((last - first + 1).sum())
        if many > WINDOWS_MAX:
            msg = (
                f"query {self._query.name}: {many:,} windows are due at once, more than "
                f"{WINDOWS_MAX:,}: if a record's time leaps ahead, give event_time a max or a "
                "max_ahead, which make it a dead letter; else choose a longer slide"
            )
            raise TooManyWindows(msg)
        ids = pl.int_ranges(FIRST_WINDOW, pl.col(LAST_WINDOW) + 1, dtype=pl.Int64)
        return partials.with_columns(ids.alias(WINDOW_ID)).explode(WINDOW_ID)


def in_time(states: pl.DataFrame) -> pl.DataFrame:
    """Return the partial states of records that were not late; without a copy if all are."""
    return where(states, states[RELEASE].to_numpy() == ON_TIME)


def first_revision(states: pl.DataFrame) -> pl.DataFrame:
    """Return states as those of revision 0."""
    return states.with_columns(pl.lit(0, dtype=pl.Int64).alias(REVISION))


class LandmarkShardPart(SlidingShardPart):
    """The rows of landmark windows: all begin at the origin, and each contains the previous one.

    Windows without new records are due, too; so all windows from a key's first one on are listed,
    and their content is computed at once. The last window at the end of the log is the last that
    any lane's finite progress had reached, or the first one of the newest record.

    Source: Li et al., SIGMOD 2005, section 4.2; the last window is ours.
    """

    def open(self, tables: Tables, after: Progress) -> pl.DataFrame:
        """Return the content of open windows, up to the first window of the newest record."""
        return self._results.of(self._full(tables, after, AllEnded(after)))

    def _ended_between(
        self, units: pl.DataFrame, before: Progress, after: Progress
    ) -> tuple[Ints, Ints]:
        first, last = super()._ended_between(units, before, after)
        ended = self._numbering.ended_by(after.furthest(units))
        newest = self._numbering.open_from(after.newest(units))
        return first, np.minimum(last, np.maximum(ended, newest))

    def _first_rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        return self._rows_of(self._full(tables, before, after))

    def _full(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        due = self._due(tables, before, after)
        # All intervals of a key end at the same window, as do all its windows.
        spans = due.group_by(self._keys) if self._keys else due.group_by(pl.lit(0).alias("all"))
        listed = spans.agg(pl.col(FIRST_WINDOW).min(), pl.col(LAST_WINDOW).max())
        windows = self._expanded(listed).select(self._group).sort(self._group)
        held = self._content(due.drop(RELEASE), windows, self._keys)
        return first_revision(held)
