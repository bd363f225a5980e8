"""What windows, running totals, empty windows and `having` give, computed by plain Python.

It is written from the contract, and imports nothing of the project: neither engine nor definition
can have misled it. `python -m tests.unit.more_windows` writes `tests/data/more_windows` again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from tests.unit.reading.plain_python import Case, line_of, order

FOLDER = Path("tests/data/more_windows")
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
NEVER = -(1 << 70)
"""The progress of a lane that has had no record."""


class Window(NamedTuple):
    """A window: its number, and its extent from start to end, without the end."""

    number: int
    start: int
    end: int


class Grid(Protocol):
    """Windows that are there whatever the records are."""

    def holding(self, ts: int) -> list[Window]:
        """Return the windows that hold an instant, in the order of their ends."""

    def under_way(self, ts: int) -> int:
        """Return the number of the first window that ends later, also if it begins later."""

    def following(self, window: Window) -> Window:
        """Return the next window."""


class Seen(NamedTuple):
    """A record.

    Attributes:
        before: the progress of its lane before it.
    """

    ts: int
    lane: str
    offset: int
    before: int
    key: tuple[Any, ...]
    v: int | None


@dataclass
class Log:
    """The lines of a file of events, and the progress of its lanes as they are written."""

    case: Case
    slack: int
    seen: list[Seen] = field(default_factory=list)
    progress: dict[str, int] = field(default_factory=dict)
    _next: dict[str, int] = field(default_factory=dict)

    def place(self, lane: str) -> dict[str, Any]:
        topic, _, partition = lane.partition("/")
        offset = self._next[lane] = self._next.get(lane, -1) + 1
        return {"source": topic, "partition": int(partition), "offset": offset}

    def record(self, lane: str, ts: int, v: int | None = 1, **keys: Any) -> Seen:
        """Append a record; its progress is the largest time so far, less the slack."""
        place, before = self.place(lane), self.progress.get(lane, NEVER)
        self.case.lines.append({**place, "value": {"ts": ts, "v": v, **keys}})
        self.progress[lane] = max(before, ts - self.slack)
        self.seen.append(Seen(ts, lane, place["offset"], before, tuple(keys.values()), v))
        return self.seen[-1]

    def bound(self, lane: str, ts: int) -> None:
        """Append a promise that nothing older than this follows in the lane."""
        self.case.lines.append({**self.place(lane), "control": {"bound": ts}})
        self.progress[lane] = max(self.progress.get(lane, NEVER), ts)


@dataclass(frozen=True)
class Rules:
    """What a query says besides its windows.

    Attributes:
        every, retention: of the policy `update`.
        after: how many empty windows follow one with records.
        holds: whether a row of these values and this key is sent.
    """

    policy: Literal["drop", "dead_letter", "update"] = "dead_letter"
    every: int = 1
    retention: int = 0
    consistent: bool = False
    accumulation: Literal["accumulating", "discarding", "retracting"] = "accumulating"
    after: int = 0
    holds: Callable[[dict[str, Any], tuple[Any, ...]], bool | None] = lambda values, key: True


@dataclass(frozen=True)
class Content:
    """A window of a key with the records of one revision, and those that came with it."""

    revision: int
    records: Sequence[Seen]
    added: Sequence[Seen]


def sums(records: Sequence[Seen]) -> dict[str, Any]:
    """The aggregates `{n: count, s: sum(v), last: last(v)}`; `records` in their canonical order."""
    values = [one.v for one in records if one.v is not None]
    return {
        "n": len(records),
        "s": sum(values) if values else None,
        "last": values[-1] if values else None,
    }


def take(case: Case, query: str, grid: Grid, log: Log, rules: Rules | None = None) -> None:
    """Add a query's rows and dead letters; every lane has ended."""
    rules = rules or Rules()
    on_time = defaultdict[tuple[Any, ...], dict[Window, list[Seen]]](lambda: defaultdict(list))
    late = defaultdict[tuple[Any, ...], dict[Window, dict[int, list[Seen]]]](
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for one in log.seen:
        windows = grid.holding(one.ts)
        earliest = min((window.end for window in windows), default=0)
        taken = False
        for window in windows:
            judged = earliest if rules.consistent else window.end
            if one.before < judged:
                on_time[one.key][window].append(one)
            elif rules.policy == "update" and one.before < window.end + rules.retention:
                passed = max(one.before, window.end)
                release = (passed // rules.every + 1) * rules.every
                late[one.key][window][release].append(one)
            else:
                continue
            taken = True
        if windows and not taken and rules.policy != "drop":
            reason = "late" if rules.policy == "dead_letter" else "out_of_retention"
            topic, _, partition = one.lane.partition("/")
            case.dead.append((topic, int(partition), one.offset, query, reason))
    furthest = max(log.progress.values())
    newest = max(grid.under_way(one.ts) for one in log.seen)
    found = list[tuple[Any, dict[str, Any]]]()
    for key in on_time | late:
        called = set[Window]()
        for window in on_time[key]:
            for _ in range(rules.after):
                window = grid.following(window)  # noqa: PLW2901
                if window.end <= furthest or window.number <= newest:
                    called.add(window)
        for window in {*on_time[key], *late[key], *called}:
            first = on_time[key].get(window)
            first = [] if first is None and window in called else first
            for content, marks in sent(rules, key, [*contents(first, late[key][window])]):
                row = row_of(case, query, window, key, content)
                place = (window.start, window.end, order(key), content.revision, len(found))
                found.append((place, row | marks))
    case.rows += [line_of(row) for _, row in sorted(found, key=lambda one: one[0])]


def contents(first: Sequence[Seen] | None, late: dict[int, list[Seen]]) -> Iterator[Content]:
    """Yield what each revision of a window holds."""
    records, revision = list[Seen](), 0
    if first is not None:
        records = [*first]
        yield Content(0, canonical(records), canonical(records))
    for release in sorted(late):
        records, revision = [*records, *late[release]], revision + 1
        yield Content(revision, canonical(records), canonical(late[release]))


def canonical(records: Sequence[Seen]) -> list[Seen]:
    def place(one: Seen) -> tuple[int, str, int, int]:
        topic, _, partition = one.lane.partition("/")
        return one.ts, topic, int(partition), one.offset

    return sorted(records, key=place)


def sent(
    rules: Rules, key: tuple[Any, ...], revisions: Sequence[Content]
) -> Iterator[tuple[Content, dict[str, Any]]]:
    """Yield the rows that are sent for a window, and what marks them."""
    held = [bool(rules.holds(sums(one.records), key)) for one in revisions]
    for number, content in enumerate(revisions):
        if rules.accumulation == "discarding":
            yield Content(content.revision, content.added, content.added), {}
        elif rules.accumulation == "retracting":
            if held[number]:
                yield content, {}
                if number + 1 < len(revisions):
                    yield content, {"op": "retract"}
        elif held[number]:
            yield content, {}
        elif number and held[number - 1]:
            yield content, {"tombstone": True}


def row_of(
    case: Case, query: str, window: Window, key: tuple[Any, ...], content: Content
) -> dict[str, Any]:
    offsets = dict[str, list[int]]()
    for lane in case.lanes:
        own = [one.offset for one in content.records if one.lane == lane]
        if own:
            offsets[lane] = [min(own), max(own)]
    return {
        "query": query,
        "window_id": window.number,
        "window_start": window.start,
        "window_end": window.end,
        "key": list(key),
        "pane": "late" if content.revision else "full",
        "revision": content.revision,
        "records": len(content.records),
        "offsets": offsets,
        "values": sums(content.records),
    }
