"""The sequence of one key's session rows, by definition: recomputed whenever a record joins.

At instant x: first, sessions that have ended by then and differ from their last row are sent; then
the late records released at x join; starts that were shown but no longer exist get a tombstone;
finally, ended sessions that differ from their last row are sent again.

Source: SAMZA-552, "Session window: dynamic window"; merging and tombstones are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Entry(Generic[T]):
    """A record of the key.

    Attributes:
        at: its position on the axis.
        place: its place in the canonical order.
        release: when it joins; None: it was on time.
    """

    at: int
    place: tuple[int, str, int, int]
    release: int | None
    item: T


@dataclass(frozen=True)
class SessionRow(Generic[T]):
    """One row of a session.

    Attributes:
        instant: when it is sent.
        step: why: it ended; it is now part of another session; it changed after its end.
        start, end: the session; in a tombstone, those of its last row.
        holds: its records, by place.
        before: the previous row of the same start, if any.
        absorbed_by: in a tombstone, the start of the session that it is now part of.
    """

    instant: int
    step: Literal["ended", "absorbed", "changed"]
    start: int
    end: int
    revision: int
    holds: tuple[T, ...]
    before: SessionRow[T] | None
    absorbed_by: int | None = None

    @property
    def order(self) -> tuple[int, int, int, int]:
        """The sort key among the rows of all keys, except for the key."""
        step = ("ended", "absorbed", "changed").index(self.step)
        return self.instant, step, self.start, self.end


def course(entries: Sequence[Entry[T]], gap: int) -> Iterator[SessionRow[T]]:
    """Yield all rows that a key's sessions ever send, in order.

    Args:
        entries: the key's records, in any order.
        gap: the distance that separates two records.
    """
    held = [entry for entry in entries if entry.release is None]
    releases = {entry.release for entry in entries if entry.release is not None}
    sessions, shown = sessions_of(held, gap), dict[int, SessionRow[T]]()
    for x in sorted({entry.at + gap for entry in entries} | releases):
        yield from _changed(sessions, x, shown, "ended")
        if x in releases:
            held += [entry for entry in entries if entry.release == x]
            sessions = sessions_of(held, gap)
            yield from _tombstones(sessions, x, shown)
            yield from _changed(sessions, x, shown, "changed")


def sessions_of(entries: Sequence[Entry[T]], gap: int) -> dict[tuple[int, int], tuple[T, ...]]:
    """Return the sessions of some records, by start and end: chains of distances below the gap."""
    chains: list[list[Entry[T]]] = []
    for entry in sorted(entries, key=lambda entry: entry.place):
        if chains and entry.at - chains[-1][-1].at < gap:
            chains[-1].append(entry)
        else:
            chains.append([entry])
    return {
        (chain[0].at, chain[-1].at + gap): tuple(entry.item for entry in chain) for chain in chains
    }


def _changed(
    sessions: dict[tuple[int, int], tuple[T, ...]],
    x: int,
    shown: dict[int, SessionRow[T]],
    step: Literal["ended", "changed"],
) -> Iterator[SessionRow[T]]:
    for (start, end), holds in sorted(sessions.items(), key=lambda session: session[0]):
        last = shown.get(start)
        if end > x or (last is not None and last.holds == holds):
            continue
        first = 0 if step == "ended" else 1
        revision = first if last is None else last.revision + 1
        shown[start] = SessionRow(x, step, start, end, max(revision, first), holds, last)
        yield shown[start]


def _tombstones(
    sessions: dict[tuple[int, int], tuple[T, ...]], x: int, shown: dict[int, SessionRow[T]]
) -> Iterator[SessionRow[T]]:
    starts = {start for start, _ in sessions}
    for gone in sorted(set(shown) - starts):
        last = shown.pop(gone)
        into = next(start for start, end in sessions if start <= gone < end)
        yield SessionRow(x, "absorbed", gone, last.end, last.revision + 1, (), last, into)
