"""Defects of how duplicates are found, and of what a lane remembers of its records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import polars as pl

from chaos.planted_bugs.lanes import without
from chaos.planted_bugs.planted import planted
from chaos.simulator.draw.wish import Wish
from windowing.engine.columns import KIND, TIME, field_column
from windowing.engine.duplicates import KEPT, DuplicateRule, LaneDuplicates
from windowing.engine.lane import Lane, LaneState
from windowing.engine.progress.clock import ClockId, ClockState, Course, Rows
from windowing.engine.reading.objects import BadValue
from windowing.engine.reading.pack import BAD, RawRows, _exact
from windowing.engine.reading.rules import ValueRules
from windowing.engine.reading.steps import _event_time, _typed
from windowing.engine.reading.values import reading_of
from windowing.engine.storage.frames import from_bytes, to_bytes, where
from windowing.engine.storage.state import MemoryStore, StateStore
from windowing.engine.wids import ENDED, Flags, Ints
from windowing.model.fates import DUPLICATE
from windowing.model.file.pipeline import Pipeline
from windowing.model.windows.window import ROW_NUM

_WITH: Final = Wish(duplicates=1.0)
_BY_COUNTS: Final = "deterministic, dead letters, conservation, repeatable, progress, no error"


def has_duplicates(pipeline: Pipeline) -> bool:
    """Whether a source says what a duplicate is."""
    return any(part.duplicates is not None for part in pipeline.source.parts)


# Records that lie exactly `within` apart are the same. How one gets it: `<=`, as intervals are
# inclusive elsewhere.
@planted(
    "duplicate_at_the_limit",
    _BY_COUNTS,
    at="windowing.engine.duplicates:_is_close",
    wish=_WITH,
    shows_in=has_duplicates,
)
def up_to_the_limit(times: list[int], ts_us: int, within_us: int) -> bool:
    return any(abs(ts_us - one) <= within_us for one in times)


# A lane that remembers nothing when it is restarted. How one gets it: a cache of identities in the
# worker, which state is no part of.
@planted("first_forgotten_at_restart", _BY_COUNTS, wish=_WITH, shows_in=has_duplicates)
class AmnesicDuplicates(LaneDuplicates):
    _memory: MemoryStore | None = None

    def withheld(self, rows: Rows, time: ClockState, store: StateStore) -> Rows:
        del store
        self._memory = self._memory or MemoryStore()
        return super().withheld(rows, time, self._memory)


class EagerDuplicates(LaneDuplicates):
    def withheld(self, rows: Rows, time: ClockState, store: StateStore) -> Rows:
        by, stored = self._rule._by, store.get(KEPT)
        bad = rows.all.filter(pl.col(KIND) == BAD, *(pl.col(n).is_not_null() for n in [*by, TIME]))
        dead = bad.select(*by, TIME)
        known = dead if stored is None else pl.concat([from_bytes(stored), dead])
        store.put(KEPT, to_bytes(known))
        return super().withheld(rows, time, store)


# Dead letters that are remembered as if they had been kept. How one gets it: whether an identity is
# known is looked up, and noted, right after decoding.
@planted(
    "dead_record_counts_as_first",
    _BY_COUNTS,
    at="windowing.engine.reading.pack:_exact",
    also={"windowing.engine.lane:LaneDuplicates": EagerDuplicates},
    wish=_WITH,
    shows_in=has_duplicates,
)
def as_far_as_it_is_read(rows: RawRows, rules: ValueRules) -> pl.DataFrame:
    chunk, reading = _exact(rows, rules), reading_of(rules)
    columns: dict[str, list[Any]] = {TIME: chunk[TIME].to_list()}
    columns |= {field_column(n): chunk[field_column(n)].to_list() for n in rules.fields}
    for place, (kind, value) in enumerate(zip(chunk[KIND], rows.values, strict=True)):
        if kind != BAD or value is None:
            continue
        try:
            members = reading.decoder.exact(value)
            time = rules.found(members, rules.event_time.field)
            columns[TIME][place] = _event_time(time, None, rules)
        except BadValue:
            continue
        for name, type_ in rules.fields.items():
            known = rules.found(members, name), replace(type_, nullable=True), rules
            try:
                columns[field_column(name)][place] = _typed(*known)
            except BadValue:
                continue
    types = chunk.schema
    return chunk.with_columns(pl.Series(n, own, dtype=types[n]) for n, own in columns.items())


def filters(pipeline: Pipeline) -> bool:
    """Whether a source with duplicates filters records, too."""
    parts = pipeline.source.parts
    return any(p.duplicates is not None and any(s.name == "where" for s in p.steps) for p in parts)


# Filtered records that are remembered. How one gets it: identities are noted as records come, and
# the filter is the last step.
@planted("filtered_record_counts_as_first", _BY_COUNTS, wish=_WITH, shows_in=filters)
class UnfilteredRule(DuplicateRule):
    def found(
        self, records: pl.DataFrame, progress_us: Ints, seen: Flags, kept: pl.DataFrame | None
    ) -> tuple[Flags, pl.DataFrame]:
        repeats, after = super().found(records, progress_us, np.ones_like(seen), kept)
        return repeats & seen, after


# Duplicates that do not move progress. How one gets it: they are filtered before the generator sees
# them, as a deduplicating source does.
@planted("duplicate_moves_no_progress", _BY_COUNTS, wish=_WITH, shows_in=has_duplicates)
class StandingLane(Lane):
    def _run(self, clock: ClockId, rows: Rows, state: LaneState, store: StateStore) -> Course:
        run = super()._run
        if clock.attribute == ROW_NUM:
            return run(clock, rows, state, store)
        return without(DUPLICATE, rows, lambda seen: run(clock, seen, state, store))


# Late records that are not remembered. How one gets it: what is late takes another way, a side
# output, before identities are noted.
@planted("late_record_not_remembered", _BY_COUNTS, wish=_WITH, shows_in=has_duplicates)
class PunctualRule(DuplicateRule):
    def found(
        self, records: pl.DataFrame, progress_us: Ints, seen: Flags, kept: pl.DataFrame | None
    ) -> tuple[Flags, pl.DataFrame]:
        repeats, after = super().found(records, progress_us, seen, kept)
        before = 0 if kept is None else len(kept)
        named = records.select(pl.all_horizontal(pl.col(self._by).is_not_null())).to_series()
        noted = seen & ~repeats & named.to_numpy()
        in_time = (records[TIME].to_numpy() >= progress_us)[noted]
        return repeats, pl.concat([after[:before], after[before:].filter(pl.Series(in_time))])


# Duplicates that are remembered as well, so that a chain of them never ends. How one gets it: the
# time of an identity is renewed whenever it is seen, as caches with an expiry do.
@planted("repeat_renews_the_first", _BY_COUNTS, wish=_WITH, shows_in=has_duplicates)
class RenewingRule(DuplicateRule):
    def found(
        self, records: pl.DataFrame, progress_us: Ints, seen: Flags, kept: pl.DataFrame | None
    ) -> tuple[Flags, pl.DataFrame]:
        repeats, after = super().found(records, progress_us, seen, kept)
        return repeats, pl.concat([after, where(records, repeats).select(after.columns)])


# What was kept is forgotten as soon as progress has passed it by `within`. How one gets it: the
# length of the memory is taken for the length of the rule.
@planted("identity_forgotten_too_early", _BY_COUNTS, wish=_WITH, shows_in=has_duplicates)
class HastyRule(DuplicateRule):
    def needed(self, kept: pl.DataFrame, progress_us: int) -> pl.DataFrame:
        later = progress_us if progress_us == ENDED else progress_us + self._within_us
        return super().needed(kept, later)


# Identities with a null that are equal to others with one. How one gets it: an identity as one
# text, in which null is empty.
@planted("null_is_an_identity", _BY_COUNTS, wish=_WITH, shows_in=has_duplicates)
class NullRule(DuplicateRule):
    def found(
        self, records: pl.DataFrame, progress_us: Ints, seen: Flags, kept: pl.DataFrame | None
    ) -> tuple[Flags, pl.DataFrame]:
        filled = (
            pl.col(name).fill_null("" if records.schema[name] == pl.String else 0)
            for name in self._by
        )
        return super().found(records.with_columns(filled), progress_us, seen, kept)


# Records that are judged by the lane's progress before the batch. How one gets it: progress is
# computed after all records of a batch were looked up.
@planted("repeat_judged_by_the_batch", _BY_COUNTS, wish=_WITH, shows_in=has_duplicates)
class BatchRule(DuplicateRule):
    def found(
        self, records: pl.DataFrame, progress_us: Ints, seen: Flags, kept: pl.DataFrame | None
    ) -> tuple[Flags, pl.DataFrame]:
        first = np.full_like(progress_us, progress_us[0]) if len(progress_us) else progress_us
        return super().found(records, first, seen, kept)
