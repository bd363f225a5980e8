"""Comparison of two outputs, window by window: what is equal, and what changes.

`chaos.verdict.verify` says which of the two is right, if any.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from chaos.readers.output import Line

Lines = Iterable[Line]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Change(StrEnum):
    """The change of a window from one output to the other."""

    same = "same"
    changed = "changed"
    added = "added"
    gone = "gone"


@dataclass(frozen=True)
class WindowPlace:
    """A window by extent and key, not by its number, which another origin would shift.

    Attributes:
        start_us, end_us: the extent, half-open.
        key: the key as JSON.
    """

    query: str
    start_us: int
    end_us: int
    key: str

    @property
    def extent(self) -> str:
        """The extent as text, in UTC."""
        return f"{instant(self.start_us)} to {instant(self.end_us)}"


@dataclass(frozen=True)
class WindowPair:
    """One window in both outputs.

    Attributes:
        before, after: its lines, revision by revision; empty if the output lacks it.
    """

    place: WindowPlace
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def change(self) -> Change:
        """How the window changed."""
        if self.before == self.after:
            return Change.same
        if not self.before:
            return Change.added
        return Change.changed if self.after else Change.gone

    def turned(self) -> WindowPair:
        """Return the same pair with its sides swapped."""
        return WindowPair(self.place, self.after, self.before)

    @property
    def differing(self) -> list[tuple[str, object, object]]:
        """(name, before, after) of the values that differ in the last revisions; None if absent."""
        old, new = _values(self.before), _values(self.after)
        names = dict.fromkeys([*old, *new])
        return [(n, old.get(n), new.get(n)) for n in names if old.get(n) != new.get(n)]


@dataclass(frozen=True)
class Contrast:
    """All windows of two outputs.

    Attributes:
        before, after: the names of the two.
        pairs: every window, ordered by query, extent and key.
    """

    before: str
    after: str
    pairs: tuple[WindowPair, ...]

    @property
    def differing(self) -> list[WindowPair]:
        """The windows that changed."""
        return [pair for pair in self.pairs if pair.change is not Change.same]

    @property
    def counts(self) -> Mapping[Change, int]:
        """Number of windows by change."""
        return Counter(pair.change for pair in self.pairs)

    def summary(self) -> str:
        """Return the counts in one sentence."""
        changes = [change for change in Change if change is not Change.same]
        counts = ", ".join(f"{self.counts[change]:,} {change}" for change in changes)
        return f"{len(self.differing):,} of {len(self.pairs):,} windows differ: {counts}"

    def as_data(self) -> dict[str, Any]:
        """Return counts, and the differing windows with their lines, as plain data."""
        return {
            "before": self.before,
            "after": self.after,
            "windows": len(self.pairs),
            "counts": {change.value: self.counts[change] for change in Change},
            "differing": [
                {
                    "query": pair.place.query,
                    "window": [pair.place.start_us, pair.place.end_us],
                    "key": json.loads(pair.place.key),
                    "change": pair.change.value,
                    "before": [json.loads(line) for line in pair.before],
                    "after": [json.loads(line) for line in pair.after],
                }
                for pair in self.differing
            ],
        }


def contrast(before: Lines, after: Lines, *, names: tuple[str, str]) -> Contrast:
    """Put two outputs side by side.

    Each has rows with their identities, in any order.
    """
    old, new = _by_place(before), _by_place(after)
    pairs = [
        WindowPair(place, tuple(old.get(place, ())), tuple(new.get(place, ())))
        for place in sorted({*old, *new}, key=lambda p: (p.query, p.start_us, p.end_us, p.key))
    ]
    return Contrast(*names, tuple(pairs))


def instant(us: int) -> str:
    """Return an instant as text, in UTC; outside the calendar, as a number of microseconds."""
    try:
        at = _EPOCH + timedelta(microseconds=us)
    except OverflowError:
        return f"{us} µs"
    return at.isoformat(" ").removesuffix("+00:00").removesuffix(":00")


def _by_place(lines: Lines) -> dict[WindowPlace, list[str]]:
    found: dict[WindowPlace, list[tuple[int, str]]] = defaultdict(list)
    for _, line in lines:
        row = json.loads(line)
        key = json.dumps(row["key"], ensure_ascii=False)
        place = WindowPlace(row["query"], row["window_start"], row["window_end"], key)
        found[place].append((row["revision"], line))
    return {place: [line for _, line in sorted(revised)] for place, revised in found.items()}


def _values(lines: tuple[str, ...]) -> dict[str, object]:
    """Return the values of a window's last revision, with names for display."""
    if not lines:
        return {}
    row = json.loads(lines[-1])
    values = {"revisions": len(lines), "records": row["records"], **row["values"]}
    return values | {"window_id": row["window_id"], "offsets": row["offsets"]}
