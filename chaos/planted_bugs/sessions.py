"""Defects of sessions: gaps, merging, tombstones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from chaos.planted_bugs.conditions import (
    discarding,
    retracting,
    session,
    session_of_rows,
    some_query,
    updates,
    with_own_gaps,
)
from chaos.planted_bugs.planted import planted
from windowing.engine import wids
from windowing.engine.columns import AFTER, BEFORE, CHAIN, GAP, RELEASE
from windowing.engine.progress.reached import Progress, stamped
from windowing.engine.wids import NOTHING_YET, ON_TIME, Flags
from windowing.engine.windows.chains import (
    Piece,
    SessionRow,
    _joined,
    _Session,
    _tombstone,
    chained,
    end,
)
from windowing.engine.windows.part import Scan, Tables
from windowing.engine.windows.session import PIECES, SessionLanePart, SessionShardPart
from windowing.engine.windows.sliding_lane import Span
from windowing.model.file.pipeline import Query

planted_in_late_sessions = partial(
    planted, expected="deterministic", shows_in=some_query(session, updates)
)

_JOINED = "windowing.engine.windows.chains:_joined"


# A late record between two sessions that extends the earlier one but does not merge the later.
# How one gets it: a lookup that stops at the first hit.
@planted_in_late_sessions("bridge_joins_one_side", at=_JOINED)
def one_sided(
    sessions: list[_Session], piece: Piece, gap: int
) -> tuple[list[_Session], list[_Session]]:
    behind = [session for session in sessions if session.first > piece.last]
    before = [session for session in sessions if session not in behind]
    if not any(session.last + gap > piece.first for session in before):
        return _joined(sessions, piece, gap)
    after, gone = _joined(before, piece, gap)
    return [*behind, *after], gone


# Sessions whose gap is the same for all keys. How one gets it: a map of exceptions that is
# parsed, validated, and not used.
@planted(
    "gap_of_every_key",
    "deterministic",
    at="windowing.engine.windows.session:with_gap",
    shows_in=some_query(with_own_gaps),
)
def of_all(query: Query, pieces: pl.DataFrame) -> pl.DataFrame:
    return pieces.with_columns(pl.lit(query.window.range_, dtype=pl.Int64).alias(GAP))


# A session whose revisions restart when it absorbs another one. How one gets it: a merged window
# is a new object.
@planted_in_late_sessions("merged_session_counts_anew", at=_JOINED)
def forgetful(
    sessions: list[_Session], piece: Piece, gap: int
) -> tuple[list[_Session], list[_Session]]:
    after, gone = _joined(sessions, piece, gap)
    if gone:
        after[-1].sent = None
    return after, gone


# Sessions that are dropped once they have ended, although late records may still join them. How
# one gets it: purging state when its window fires.
@planted_in_late_sessions("session_forgotten_at_its_end")
class TidyShardPart(SessionShardPart):
    def retained(self, tables: Tables, after: Progress) -> Tables:
        pieces = stamped(self._chained(tables), after=after)
        open_ = pl.max_horizontal(end(), RELEASE).max().over(CHAIN) > pl.col(AFTER)
        kept = pieces.filter(open_).select(tables[PIECES].columns)
        return super().retained({PIECES: kept}, after)


def generously_chained(pieces: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Chain with a gap that is one too long."""
    wider = chained(pieces.with_columns(pl.col(GAP) + 1), by)
    return wider.with_columns(pl.col(GAP) - 1)


# `<=` instead of `<`: two records exactly a gap apart are one session. How one gets it: the
# session's end is treated as inclusive.
@planted(
    "session_gap_inclusive",
    "deterministic",
    at=_JOINED,
    also={"windowing.engine.windows.session:chained": generously_chained},
    shows_in=some_query(session),
)
def generously_joined(
    sessions: list[_Session], piece: Piece, gap: int
) -> tuple[list[_Session], list[_Session]]:
    return _joined(sessions, piece, gap + 1)


# A record exactly at its lane's progress is late for its session. How one gets it: one character,
# and a bound read as inclusive.
@planted(
    "session_late_at_the_bound",
    "deterministic, dead letters, conservation",
    shows_in=some_query(session),
)
class StrictLanePart(SessionLanePart):
    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        late = (scan.progress_us == scan.values) & (scan.values > NOTHING_YET)
        return super()._spans(replace(scan, progress_us=scan.progress_us + late))


# A late record that joins its session at once, not at its epoch. How one gets it: "if the session
# is there, add to it".
@planted_in_late_sessions("session_late_record_at_once")
class OpenLanePart(SessionLanePart):
    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        outside, spans = super()._spans(scan)
        at_once = [replace(s, release=np.full_like(s.release, ON_TIME)) for s in spans]
        return outside, at_once


# Compaction that merges waiting pieces of a session with released ones. How one gets it: merging
# "what belongs together" too early.
@planted_in_late_sessions("session_merged_across_releases")
class MeltingShardPart(SessionShardPart):
    def retained(self, tables: Tables, after: Progress) -> Tables:
        pieces = tables[PIECES].with_columns(pl.lit(ON_TIME, dtype=pl.Int64).alias(RELEASE))
        return super().retained({PIECES: pieces}, after)


def closely_chained(pieces: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Chain with a gap that is one too short."""
    closer = chained(pieces.with_columns(pl.col(GAP) - 1), by)
    return closer.with_columns(pl.col(GAP) + 1)


# Sessions of rows that end one foreign record too early. How one gets it: an off-by-one in "fewer
# than N".
@planted(
    "session_of_rows_one_short",
    "deterministic",
    at=_JOINED,
    also={"windowing.engine.windows.session:chained": closely_chained},
    shows_in=some_query(session_of_rows),
)
def closely_joined(
    sessions: list[_Session], piece: Piece, gap: int
) -> tuple[list[_Session], list[_Session]]:
    return _joined(sessions, piece, gap - 1)


# Sessions whose retention counts from the record, not from the session's end. How one gets it:
# the rule of other window classes, whose ends lie on a grid.
@planted(
    "session_retention_without_gap",
    "dead letters, conservation",
    shows_in=some_query(session, updates),
)
class ShortLanePart(SessionLanePart):
    def _spans(self, scan: Scan) -> tuple[Flags, list[Span]]:
        outside, (on_time, *late) = super()._spans(scan)
        kept = wids.lowered(scan.progress_us, self._query.retention_us or 0) < scan.values
        return outside, [on_time, *(replace(span, chosen=span.chosen & kept) for span in late)]


# A session emitted at the progress where a batch ended, and again by the next batch. How one gets
# it: `>=` at the open end of an interval.
@planted(
    "session_sent_again_at_the_instant",
    "exactly once, closing",
    shows_in=some_query(session, updates),
)
class InclusiveShardPart(SessionShardPart):
    def _shown(self, pieces: pl.DataFrame) -> Iterator[tuple[object, ...]]:
        before = pl.col(BEFORE)
        early = pl.when(before == NOTHING_YET).then(before).otherwise(before - 1)
        return super()._shown(pieces.with_columns(early.alias(BEFORE)))


# A discarding session that shows everything in every revision. How one gets it: accumulation is
# left to the state, which keeps everything.
@planted(
    "session_shows_all_again", "deterministic", shows_in=some_query(session, updates, discarding)
)
class KeepingShardPart(SessionShardPart):
    def _as_rows(self, sent: SessionRow, of: int) -> Iterator[tuple[object, ...]]:
        if sent.before is not None and self._query.accumulation == "discarding":
            sent = replace(sent, before=replace(sent.before, holds=frozenset()))
        return super()._as_rows(sent, of)


# A retracting session that retracts the new content, not the emitted one. How one gets it: both
# rows are made from the state after the change.
@planted(
    "session_takes_back_the_new", "deterministic", shows_in=some_query(session, updates, retracting)
)
class ForwardShardPart(SessionShardPart):
    def _as_rows(self, sent: SessionRow, of: int) -> Iterator[tuple[object, ...]]:
        if sent.before is not None and sent.holds:
            sent = replace(sent, before=replace(sent.before, holds=sent.holds))
        return super()._as_rows(sent, of)


# Sessions that vanish without a tombstone when another one absorbs them. How one gets it: merging
# in state without output downstream.
@planted_in_late_sessions("session_without_tombstone")
class SilentShardPart(SessionShardPart):
    def _tombstones(
        self, gone: pl.DataFrame, pieces: pl.DataFrame, rows: pl.DataFrame
    ) -> pl.DataFrame:
        return super()._tombstones(gone, pieces, rows).clear()


# Tombstones that name the absorbed session instead of the absorbing one. How one gets it: the
# field is filled before the merge.
@planted_in_late_sessions("tombstone_names_itself", at="windowing.engine.windows.chains:_tombstone")
def selfish(sessions: Sequence[_Session], last: SessionRow, instant: int) -> SessionRow:
    return replace(_tombstone(sessions, last, instant), absorbed_by=last.start)


# Tombstones with the revision of the row that they end. How one gets it: a tombstone is treated
# as a deletion of that row.
@planted(
    "tombstone_of_old_revision",
    "deterministic, exactly once",
    at="windowing.engine.windows.chains:_tombstone",
    shows_in=some_query(session, updates),
)
def same_number(sessions: Sequence[_Session], last: SessionRow, instant: int) -> SessionRow:
    return replace(_tombstone(sessions, last, instant), revision=last.revision)
