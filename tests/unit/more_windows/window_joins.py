"""Cases of window joins: pairs of equal keys that lie in the same window."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from typing import Any

from tests.unit.more_windows.grids import Calendar, Sliding, edge_at, zone_named
from tests.unit.more_windows.plain_python import HOUR, MINUTE, SECOND, Grid, Log, Seen, Window
from tests.unit.reading.plain_python import START, Case, line_of, order

_PIPELINE = """
name: {name}
join:
  kind: window
  window: {window}
  left:
    source:
      topic: persons
      partitions: 2
      format: json
      event_time: {{field: ts, unit: us}}
      fields: {{v: int, k: "string?"}}
      disorder: {{slack: {slack}}}
  right:
    source:
      topic: auctions
      partitions: 1
      format: json
      event_time: {{field: ts, unit: us}}
      fields: {{v: int, k: "string?"}}
      disorder: {{slack: {slack}}}
  equal: [k]
  select: {{person: left.v, auction: right.v{shown}}}
{more}sink: {{table: {name}}}
"""


LANES = ["persons/0", "persons/1", "auctions/0"]
Known = dict[Window, list[tuple[int, Seen]]]
"""The records of a side in each window, with the instants at which they get into it."""


@dataclass(frozen=True)
class WindowJoin:
    """A window join.

    Attributes:
        after: whether `select` has the time from the person to the auction.
        outer: records without a partner in a window are sent, too.
        every, retention: of the policy `update`.
    """

    grid: Grid
    after: bool = False
    outer: bool = False
    every: int = 1
    retention: int = -1

    def take(self, case: Case, log: Log) -> None:
        """Add a row for each pair in each window that holds both; every lane has ended."""
        found = list[tuple[Any, dict[str, Any]]]()
        persons, auctions = (self._known(case, log, topic) for topic in ("persons", "auctions"))
        for window in persons | auctions:
            pairs = [
                (max(at, other), person, auction)
                for at, person in persons[window]
                for other, auction in auctions[window]
                if None not in person.key and person.key == auction.key
            ]
            for _, person, auction in pairs:
                found.append(self._row(window, person, auction))
            for at, one in [*persons[window], *auctions[window]] if self.outer else []:
                partners = [instant for instant, *pair in pairs if one in pair]
                if min(partners, default=at + 1) > at:
                    sides = (one, None) if one.lane.startswith("persons/") else (None, one)
                    place, row = self._row(window, *sides)
                    found.append((place, row))
                    if partners:
                        found.append(((*place[:-1], 1), {**row, "op": "retract"}))
        case.rows += [line_of(row) for _, row in sorted(found, key=lambda one: one[0])]
        case.dead.sort()

    def _known(self, case: Case, log: Log, topic: str) -> Known:
        known: Known = defaultdict(list)
        for one in log.seen:
            if not one.lane.startswith(f"{topic}/"):
                continue
            taken = False
            for window in self.grid.holding(one.ts):
                if one.before < window.end:
                    known[window].append((window.end, one))
                elif one.before < window.end + self.retention:
                    known[window].append(((one.before // self.every + 1) * self.every, one))
                else:
                    continue
                taken = True
            if not taken:
                partition = int(one.lane.rpartition("/")[2])
                case.dead.append((topic, partition, one.offset, "pairs", "out_of_retention"))
        return known

    def _row(self, window: Window, person: Seen | None, auction: Seen | None) -> tuple[Any, Any]:
        there = [one for one in (person, auction) if one is not None]
        places = list[Any]()
        for one in (person, auction):
            places += [None, None] if one is None else [one.lane, one.offset]
        values: dict[str, Any] = {
            "person": None if person is None else person.v,
            "auction": None if auction is None else auction.v,
        }
        if self.after:
            alone = person is None or auction is None
            values["after"] = None if alone else there[1].ts - there[0].ts
        revision = int(any(one.before >= window.end for one in there))
        row = {
            "query": "pairs",
            "window_id": window.number,
            "window_start": window.start,
            "window_end": window.end,
            "key": [*there[0].key, *places],
            "pane": "late" if revision else "full",
            "revision": revision,
            "records": len(there),
            "offsets": {one.lane: [one.offset, one.offset] for one in there},
            "values": values,
        }
        key = order((*there[0].key, *places))
        return (window.start, window.end, key, revision, 0), row


def _case(name: str, need: str, window: str, shown: str = "") -> Case:
    text = _PIPELINE.format(name=name, window=window, shown=shown, slack="9000 days", more="")
    return Case(name, need, text, LANES)


def new_users() -> Case:
    """Nexmark's query 8."""
    case = _case(
        "new_users",
        "Who registered and opened an auction within the same ten seconds?",
        "RANGE 10 s SLIDE 10 s",
        ", after: right.ts - left.ts",
    )
    log, rng = Log(case, 9_000 * 24 * HOUR), random.Random(15)
    for number in range(150):
        lane = rng.choice(LANES)
        k = rng.choice(["ann", "bo", "cy", "di", "eve", None])
        ts = START + rng.randrange(90 * SECOND)
        log.record(lane, ts - ts % (5 * SECOND) if rng.random() < 0.2 else ts, number, k=k)
    WindowJoin(Sliding(10 * SECOND, 10 * SECOND), after=True).take(case, log)
    case.end()
    return case


def overlapping() -> Case:
    """A pair is in several windows, and sent for each."""
    case = _case(
        "new_users_overlapping",
        "The same, in windows that begin every five seconds.",
        "RANGE 12 s SLIDE 5 s",
    )
    log, rng = Log(case, 9_000 * 24 * HOUR), random.Random(16)
    for number in range(80):
        lane = rng.choice(LANES)
        log.record(lane, START + rng.randrange(40) * SECOND, number, k=rng.choice("abcd"))
    WindowJoin(Sliding(12 * SECOND, 5 * SECOND)).take(case, log)
    case.end()
    return case


def on_a_day() -> Case:
    """The same local day, which is one of 23 hours."""
    case = _case(
        "new_users_of_the_day",
        "Who registered and opened an auction on the same day in Berlin?",
        "RANGE 1 day SLIDE 1 day ZONE Europe/Berlin",
    )
    log, rng = Log(case, 9_000 * 24 * HOUR), random.Random(17)
    berlin = zone_named("Europe/Berlin")
    begin = edge_at(date(2026, 3, 29), 0, berlin)
    for number in range(60):
        lane = rng.choice(LANES)
        ts = begin + rng.choice([0, 22, 23, 24, 46, 47]) * HOUR + rng.randrange(-1, 1)
        log.record(lane, ts, number, k=rng.choice("abcd"))
    WindowJoin(Calendar(berlin, "day", 1, 1)).take(case, log)
    case.end()
    return case


def late() -> Case:
    """Both sides are kept; late records make pairs, and take back that partners were alone."""
    more = "late: {policy: update, every: 15 s}\nretention: 1 minute\n"
    case = Case(
        "new_users_late",
        "Also who opened none, until an auction of the same ten seconds becomes known late.",
        _PIPELINE.format(
            name="new_users_late",
            window="RANGE 20 s SLIDE 10 s\n  outer: full",
            shown=", after: right.ts - left.ts",
            slack="5 s",
            more=more,
        ),
        LANES,
    )
    log, rng, clock = Log(case, 5 * SECOND), random.Random(18), START
    for number in range(140):
        clock += rng.randrange(3 * SECOND)
        ts = clock - rng.choice([0, 0, 0, 10, 20, 30, 60, 75, 90]) * SECOND
        ts -= ts % (10 * SECOND) if rng.random() < 0.2 else 0
        log.record(rng.choice(LANES), ts, number, k=rng.choice(["ann", "bo", "cy", "di", None]))
    grid = Sliding(20 * SECOND, 10 * SECOND)
    join = WindowJoin(grid, after=True, outer=True, every=15 * SECOND, retention=MINUTE)
    join.take(case, log)
    case.end()
    return case
