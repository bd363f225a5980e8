"""The shard's part of a family: from shared slices to the rows of all of its queries.

A calendar of the members' windows says which have any that close while progress moves. The partial
states of such a member follow from those of the slices, and its rows from these, as for a query
that has its own slices.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import polars as pl

from windowing.engine import wids
from windowing.engine.aggregates import Accumulators
from windowing.engine.columns import (
    AT,
    FIRST_WINDOW,
    KEY,
    LAST_WINDOW,
    OFFSETS,
    PARTITION,
    RECORDS,
    RELEASE,
    RETRACTS,
    REVISION,
    VALUES,
    WINDOW_ID,
)
from windowing.engine.effects import took_effect
from windowing.engine.families.cells import Cells, Spans
from windowing.engine.families.due_rows import MEMBER, DueWindows, content, is_worthwhile, listed
from windowing.engine.families.family import Family, Member
from windowing.engine.families.grids import within
from windowing.engine.families.lane_part import earliest
from windowing.engine.progress.reached import Progress
from windowing.engine.storage.cold import Move
from windowing.engine.storage.frames import where
from windowing.engine.tuning import tuning
from windowing.engine.wids import ENDED, NOTHING_YET, ON_TIME, Flags, Ints
from windowing.engine.windows.classes import numbering_by
from windowing.engine.windows.evaluation import past_end
from windowing.engine.windows.part import Tables, key_columns
from windowing.engine.windows.results import Results
from windowing.engine.windows.sliding import SlidingShardPart, first_revision
from windowing.engine.windows.sliding_lane import KEPT, OPEN, PARTIALS
from windowing.model import Pipeline, Query
from windowing.model.fields import Aggregate


class FamilyShardPart:
    """The shard's part: builds the rows of all queries of a family.

    Its rows have a column `member`; they are those of every query with these windows, and their
    values those of all aggregates of the family, null where no such query has one.
    """

    def __init__(self, family: Family, query: Query, pipeline: Pipeline) -> None:
        self._family, self._query, self._pipeline = family, query, pipeline
        self._accumulators = Accumulators.of(query, pipeline.source)
        self._keys = key_columns(query)
        self._past_end = past_end(query)
        self._parts: dict[int, SlidingShardPart] = {}
        # A query has no rows while a lane may lack it; what it would need is kept.
        self._grids = family.grids.where([_has_rows(member) for member in family.members])

    def rows(self, tables: Tables, before: Progress, after: Progress) -> pl.DataFrame:
        """Return the rows due while progress moves."""
        table = tables[PARTIALS]
        if not len(table):
            return pl.DataFrame()
        cells, states = self._cells(table), table.drop(AT, OPEN, KEPT)
        move = Move(before.highest, after.highest)
        due, late = self._due(move), self._revising(cells, states, move)
        found = self._at_once(due, cells, states, move)
        if found is not None:
            took_effect("family's members at once", sum(len(rows) for _, rows in found))
            for number in late.tolist():
                states_of = self._own(number, cells, states)
                found.append((number, self._part(number).revised(states_of, before, after)))
        else:
            found = [
                (number, self._part(number).rows(self._own(number, cells, states), before, after))
                for number in np.union1d(due, late).tolist()
            ]
        rows = together([_of(number, own) for number, own in found if len(own)])
        took_effect("families", len(rows))
        return rows

    def _at_once(
        self, due: Ints, cells: Cells, states: pl.DataFrame, move: Move
    ) -> list[tuple[int | None, pl.DataFrame]] | None:
        """Return revision 0 of all members at once; None: it is made one after the other.

        Consistent lateness depends on each member's first window, and retracting queries mark rows.
        """
        late, query = cells.late, self._query
        plain = query.late.mode == "generous" and query.accumulation != "retracting"
        if len(due) < tuning().members_at_once_from or not plain:
            return None
        by = [*self._keys, PARTITION]
        groups, slices = states.select(by).n_unique(), len(np.unique(cells.at))
        if not is_worthwhile(self._accumulators.schema, states, groups, slices):
            return None
        windows = self._ending(due, cells, move, tuning().due_windows_max // groups)
        if windows is None:
            return None
        known, others = where(states, ~late), where(states, late)
        parts = [
            *content(self._accumulators.schema, known, cells.at[~late], windows, by),
            *listed(others, cells.at[late], cells.open[late], windows),
        ]
        rows = [part.drop(RELEASE, strict=False) for part in parts if len(part)]
        if not rows:
            return []
        joined = self._accumulators.concat(rows)
        if len(others):
            # A window has one state per lane.
            joined = self._accumulators.merge(joined, [*by, MEMBER, WINDOW_ID])
        return [(None, self._results(first_revision(joined)))]

    def _ending(self, due: Ints, cells: Cells, move: Move, most: int) -> DueWindows | None:
        """Return the windows that end while progress moves and may hold any record."""
        grids, (begins, ends) = self._grids.some(due), self._between(move)
        first, last = np.array([cells.at.min()]), np.array([cells.at.max()])
        begins = np.maximum(begins[due], grids.first(first)[:, 0])
        ends = np.minimum(ends[due], grids.last(last)[:, 0])
        return DueWindows.of(self._grids, due, begins, ends, most)

    def _results(self, parts: pl.DataFrame) -> pl.DataFrame:
        found = []
        for members, results in self._alike:
            own = parts.filter(pl.col(MEMBER).is_in(members))
            if len(own):
                found.append(results.of(own, MEMBER))
        return together(found)

    @cached_property
    def _alike(self) -> list[tuple[list[int], Results]]:
        """The members that show the same aggregates, and what makes their rows."""
        by_shown: dict[tuple[Aggregate, ...], list[int]] = {}
        for number, member in enumerate(self._family.members):
            by_shown.setdefault(member.query.aggregates, []).append(number)
        found = [(numbers, self._family.members[numbers[0]].query) for numbers in by_shown.values()]
        source = self._pipeline.source
        return [(numbers, Results(own, Accumulators.of(own, source))) for numbers, own in found]

    def next_due_us(self, tables: Tables, after: Progress) -> int:
        """Return a lower bound of the next progress at which a row is due."""
        table, reached, family = tables[PARTIALS], after.highest, self._family
        needed = where(table, self._until(table) > reached)
        # At the earliest, where the first window ends that takes a state, or else any window.
        opened = np.maximum(needed[OPEN].to_numpy() - 1, family.places(np.array([reached])))
        due_us = int(family.instants(family.ends.after(opened)).min(initial=ENDED))
        every_us = self._query.late.every_us
        if every_us is None:
            return due_us
        release = needed[RELEASE].to_numpy()
        late = release[release != ON_TIME]
        boundary = int(wids.release_us(np.array([reached]), every_us)[0])
        return min(due_us, int(np.maximum(late, boundary).min(initial=ENDED)))

    def due_us(self, name: str, table: pl.DataFrame) -> Ints:
        """Return the progress that partial states are not needed before."""
        del name
        return earliest(self._family, table)

    def retained(self, tables: Tables, after: Progress) -> Tables:
        """Return what rows after this progress can still need, merged where equal."""
        table = tables[PARTIALS]
        kept = where(table, self._until(table) > after.highest)
        named = [*self._keys, AT, OPEN, KEPT, RELEASE, PARTITION]
        return {PARTIALS: self._accumulators.merge(kept, named).sort(named)}

    def _until(self, table: pl.DataFrame) -> Ints:
        """Return the progress from which on no row needs a partial state."""
        slices, which = np.unique(table[AT].to_numpy(), return_inverse=True)
        ends = self._family.reach.until(slices)
        none, ends = ends == NOTHING_YET, self._family.instants(ends)
        until: Ints = np.where(none, NOTHING_YET, ends + self._past_end)
        return until[which]

    def _cells(self, table: pl.DataFrame) -> Cells:
        at, opened, kept = (table[name].to_numpy() for name in (AT, OPEN, KEPT))
        return Cells(at, self._family.ends.after(at), opened, kept)

    def _due(self, move: Move) -> Ints:
        first, last = self._between(move)
        return np.flatnonzero(first <= last)

    def _between(self, move: Move) -> tuple[Ints, Ints]:
        """Return the first and the last window of each member that end while progress moves."""
        places = self._family.places(np.array([*move]))
        low, high = self._grids.open_from(within(places)).T
        first = np.maximum(low, self._grids.first_there[:, 0])
        return first, np.minimum(high - 1, self._grids.last_there[:, 0])

    def _revising(self, cells: Cells, states: pl.DataFrame, move: Move) -> Ints:
        """Return the members with late epochs that are due while progress moves."""
        every_us, grids = self._query.late.every_us, self._grids
        found = np.zeros(grids.count, dtype=bool)
        late = cells.late
        if every_us is None or not late.any():
            return np.flatnonzero(found)
        waiting, release = cells.where(late), states[RELEASE].to_numpy()[late]
        for part in grids.slabs(len(waiting)):
            spans = Spans.of(grids, waiting.where(part), self._query.late).until(grids.last_there)
            first, last = (
                np.maximum(wids.release_us(self._ends(windows), every_us), release[part])
                for windows in (spans.first_late, spans.last_late)
            )
            due = spans.waiting & (first <= move.after_us) & (last > move.before_us)
            found |= due.any(axis=1)
        return np.flatnonzero(found)

    def _ends(self, windows: Ints) -> Ints:
        return self._family.instants(self._grids.ends(windows))

    def _own(self, number: int, cells: Cells, states: pl.DataFrame) -> Tables:
        grids = self._grids.some(slice(number, number + 1))
        spans = Spans.of(grids, cells, self._query.late).until(grids.last_there)
        on_time = _spanned(states, spans.on_time[0], spans.first[0], spans.last[0])
        parts = [on_time.with_columns(pl.lit(ON_TIME, dtype=pl.Int64).alias(RELEASE))]
        if spans.waiting.any():
            parts.append(
                _spanned(states, spans.waiting[0], spans.first_late[0], spans.last_late[0])
            )
        return {PARTIALS: self._accumulators.concat(parts)}

    def _part(self, number: int) -> SlidingShardPart:
        if number not in self._parts:
            member = self._family.members[number].query
            numbering = numbering_by(member.window)
            self._parts[number] = SlidingShardPart(member, self._pipeline, numbering)
        return self._parts[number]


def _has_rows(member: Member) -> bool:
    activity = member.query.window.active
    return activity is None or not activity.lacking


def _of(number: int | None, rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of a member with its number; None: they have theirs."""
    if number is None:
        return rows
    return rows.with_columns(pl.lit(number, dtype=pl.Int32).alias(MEMBER))


def _spanned(states: pl.DataFrame, chosen: Flags, first: Ints, last: Ints) -> pl.DataFrame:
    windows = [pl.Series(FIRST_WINDOW, first[chosen]), pl.Series(LAST_WINDOW, last[chosen])]
    return where(states, chosen).with_columns(windows)


def together(found: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return rows of several members, or shards, with the values of all; columns in one order."""
    if len({frame.schema[VALUES] for frame in found}) > 1:
        flat = [frame.drop(VALUES).hstack(_values(frame)) for frame in found]
        joined = pl.concat([_ordered(frame) for frame in flat], how="diagonal")
        names = [name for name in joined.columns if name.startswith(_VALUE)]
        values = joined.select(names).rename(lambda name: name.removeprefix(_VALUE))
        return _ordered(joined.drop(names).with_columns(values.to_struct(VALUES)))
    return pl.concat([_ordered(frame) for frame in found]) if found else pl.DataFrame()


_ORDER = (MEMBER, WINDOW_ID, REVISION, RETRACTS, RECORDS, OFFSETS, KEY, VALUES)
_VALUE = "values:"


def _ordered(frame: pl.DataFrame) -> pl.DataFrame:
    known = [name for name in _ORDER if name in frame.columns]
    return frame.select(*known, *(name for name in frame.columns if name not in known))


def _values(frame: pl.DataFrame) -> list[pl.Series]:
    values = frame[VALUES].struct.unnest()
    return [values[name].alias(_VALUE + name) for name in values.columns]
