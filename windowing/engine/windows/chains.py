"""Chains: pieces of one key with distances below a gap, over columns, and what one sends in time.

A piece is a set of records that form a chain by themselves, from `at_first` to `at_last`; a single
record is one. Pieces with overlapping spans are one chain, as records of one then lie between
neighbours of the other.

Sessions grow and merge as late pieces join; `course` applies each change to the current sessions. A
chain holds all pieces that can ever touch each other, so its rows depend on nothing else.

Source: SAMZA-552, "Session window: dynamic window"; merging, tombstones and the order of what
happens at one instant are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from windowing.engine.aggregates.schema import Role
from windowing.engine.columns import AT_FIRST, AT_LAST, CHAIN, GAP, field_column
from windowing.engine.storage.groups import Groups
from windowing.engine.wids import ENDED, ON_TIME, Ints
from windowing.model import Query
from windowing.model.lengths import INT64_MAX, INT64_MIN

SPAN = {AT_FIRST: Role.MIN, AT_LAST: Role.MAX}
"""How the pieces' first and last values merge."""


def with_gap(query: Query, pieces: pl.DataFrame) -> pl.DataFrame:
    """Return pieces with the `gap` of their key."""
    window = query.window
    gap: pl.Expr = pl.lit(window.range_, dtype=pl.Int64)
    if window.gaps:
        known = dict(window.gaps)
        key = pl.col(field_column(query.key[0]))
        gap = key.replace_strict(known, default=window.range_, return_dtype=pl.Int64)
    return pieces.with_columns(gap.alias(GAP))


def end() -> pl.Expr:
    """Return the end of a session whose last record is a piece's, at most `ENDED`."""
    return later(pl.col(AT_LAST), pl.col(GAP))


def later(instant: pl.Expr, by: pl.Expr) -> pl.Expr:
    """Return instants moved by a length, at most `ENDED`."""
    beyond = instant > INT64_MAX - by
    return pl.when(beyond).then(pl.lit(ENDED, dtype=pl.Int64)).otherwise(instant + by)


def chained(pieces: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return pieces in order, with the number of their `chain`.

    Args:
        pieces: with the columns `by`, `at_first`, `at_last` and `gap`.
        by: the columns in which the pieces of one chain are equal.
    """
    groups = Groups.by(pieces, by)
    order = groups.ordered_by(pieces[AT_FIRST].to_numpy())
    ordered, group = pieces[order], groups.number[order]
    first, gap = ordered[AT_FIRST].to_numpy(), ordered[GAP].to_numpy()
    from_ = np.where(first < INT64_MIN + gap, INT64_MIN, first - gap)
    begins = np.ones(len(ordered), dtype=bool)
    begins[1:] = (np.diff(group) != 0) | (from_[1:] >= _reach(group, ordered[AT_LAST])[:-1])
    return ordered.with_columns(pl.Series(CHAIN, np.cumsum(begins)))


def _reach(group: Ints, last: pl.Series) -> Ints:
    """Return the largest value of each group so far."""
    values = last.to_numpy()
    if ((np.diff(values) >= 0) | (np.diff(group) != 0)).all():
        # As of single records.
        return values
    numbered = pl.DataFrame([pl.Series(CHAIN, group), last])
    return numbered.select(pl.col(AT_LAST).cum_max().over(CHAIN)).to_series().to_numpy()


class Piece(NamedTuple):
    """A piece: its first and last value, when it joins, and its number."""

    first: int
    last: int
    release: int
    number: int


@dataclass(frozen=True)
class SessionRow:
    """One row.

    Attributes:
        instant: when it is sent.
        start, last: the session's first and last value.
        holds: the numbers of its pieces; empty: a tombstone.
        before: the previous row of the same start, if any.
        absorbed_by: in a tombstone, the start of the session that it is now part of.
    """

    instant: int
    start: int
    last: int
    revision: int
    holds: frozenset[int]
    before: SessionRow | None
    absorbed_by: int | None = None


@dataclass
class _Session:
    """The current state of a session.

    Attributes:
        first, last: the values of its first and last record.
        holds: the numbers of its pieces.
        sent: its last row.
    """

    first: int
    last: int
    holds: set[int]
    sent: SessionRow | None = None
    changed: bool = True


def course(pieces: Sequence[Piece], gap: int, until: int) -> Iterator[SessionRow]:
    """Yield the rows of a chain, in the order of their instants.

    Args:
        pieces: all of the chain, in any order.
        gap: the gap of its key.
        until: the progress; later rows are not known yet.
    """
    sessions: list[_Session] = []
    for piece in pieces:
        if piece.release == ON_TIME:
            sessions, _ = _joined(sessions, piece, gap)
    late = [piece for piece in pieces if piece.release != ON_TIME]
    for release in sorted({piece.release for piece in late}):
        if release > until:
            break
        yield from _ended(sessions, gap, release)
        gone: list[SessionRow] = []
        for piece in late:
            if piece.release == release:
                sessions, absorbed = _joined(sessions, piece, gap)
                gone += [session.sent for session in absorbed if session.sent is not None]
        yield from (_tombstone(sessions, last, release) for last in gone)
        for session in sessions:
            if session.changed and _end(session, gap) <= release:
                yield _row(session, release, first=1)
    yield from _ended(sessions, gap, until)


def _end(session: _Session, gap: int) -> int:
    return min(session.last + gap, ENDED)


def _ended(sessions: Sequence[_Session], gap: int, until: int) -> Iterator[SessionRow]:
    ended = [s for s in sessions if s.changed and _end(s, gap) <= until]
    for session in sorted(ended, key=lambda session: session.last):
        yield _row(session, _end(session, gap), first=0)


def _row(session: _Session, instant: int, *, first: int) -> SessionRow:
    before = session.sent
    revision = first if before is None else max(before.revision + 1, first)
    holds = frozenset(session.holds)
    session.sent = SessionRow(instant, session.first, session.last, revision, holds, before)
    session.changed = False
    return session.sent


def _joined(
    sessions: list[_Session], piece: Piece, gap: int
) -> tuple[list[_Session], list[_Session]]:
    """Return the sessions after a piece has joined, and those now absorbed."""
    touched = [s for s in sessions if s.first - gap < piece.last and piece.first < s.last + gap]
    merged = _Session(piece.first, piece.last, {piece.number})
    for session in touched:
        merged.first = min(merged.first, session.first)
        merged.last = max(merged.last, session.last)
        merged.holds |= session.holds
    gone = []
    for session in touched:
        if session.first == merged.first:
            merged.sent = session.sent
        else:
            gone.append(session)
    others = [session for session in sessions if session not in touched]
    return [*others, merged], gone


def _tombstone(sessions: Sequence[_Session], last: SessionRow, instant: int) -> SessionRow:
    """Return the tombstone of a start that this row was the last to show."""
    into = next(session for session in sessions if session.first <= last.start <= session.last)
    revision = last.revision + 1
    return SessionRow(instant, last.start, last.last, revision, frozenset(), last, into.first)
