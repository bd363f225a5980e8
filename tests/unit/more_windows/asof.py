"""Cases of as-of joins: each trade with the newest price at or before its time."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from tests.unit.more_windows.plain_python import HOUR, MINUTE, SECOND, Log, Seen
from tests.unit.reading.plain_python import START, Case, line_of, order

_PIPELINE = """
name: {name}
join:
  kind: asof
  within: {within}
  left:
    source:
      topic: {left}
      partitions: 2
      format: json
      event_time: {{field: ts, unit: us}}
      fields: {{v: int, k: "string?"}}
      disorder: {{slack: {slack}}}
  right:
    source:
      topic: {right}
      partitions: 2
      format: json
      event_time: {{field: ts, unit: us}}
      fields: {{v: int, k: "string?"}}
      disorder: {{slack: {slack}}}
  equal: [k]
  select: {{trade: left.v, price: right.v}}
{more}sink: {{table: {name}}}
"""


@dataclass(frozen=True)
class Asof:
    """An as-of join.

    Attributes:
        within: how old a price may be.
        every, retention: of the policy `update`; without it late records are dead letters.
    """

    left: str
    right: str
    within: int
    every: int | None = None
    retention: int = 0

    def instant(self, one: Seen) -> int | None:
        """Return when a record is known; None: it is refused."""
        if one.before <= one.ts:
            return one.ts + 1
        if self.every is None:
            return None
        of_right = one.lane.startswith(f"{self.right}/")
        last = one.ts + self.retention + (self.within if of_right else 0)
        # Of a trade as in other joins: refused if it is more than the retention behind.
        if one.before >= last + (not of_right):
            return None
        return (one.before // self.every + 1) * self.every

    def take(self, case: Case, log: Log) -> None:
        """Add the rows and dead letters; every lane has ended."""
        known = list[tuple[int, Seen]]()
        for one in log.seen:
            at = self.instant(one)
            if at is None:
                topic, _, partition = one.lane.partition("/")
                reason = "late" if self.every is None else "out_of_retention"
                case.dead.append((topic, int(partition), one.offset, "pairs", reason))
            else:
                known.append((at, one))
        found = list[tuple[Any, dict[str, Any]]]()
        for at, trade in known:
            if not trade.lane.startswith(f"{self.left}/"):
                continue
            prices = [
                (later, price)
                for later, price in known
                if price.lane.startswith(f"{self.right}/")
                and None not in price.key
                and price.key == trade.key
                and trade.ts - self.within <= price.ts <= trade.ts
            ]
            revision, shown = int(trade.before > trade.ts), list[Seen | None]()
            for x in sorted({at, *(later for later, _ in prices if later > at)}):
                there = [price for later, price in prices if later <= x]
                match = max(there, key=_newest, default=None)
                if shown and shown[-1] == match:
                    continue
                if shown:
                    place, row = found[-1]
                    found.append(((*place[:-1], 1), {**row, "op": "retract"}))
                    revision += 1
                shown.append(match)
                row = _row(trade, match, revision)
                start, end = row["window_start"], row["window_end"]
                place = (start, end, order(tuple(row["key"])), row["pane"], revision, 0)
                found.append((place, row))
        case.rows += [line_of(row) for _, row in sorted(found, key=lambda one: one[0])]


def _newest(price: Seen) -> tuple[int, str, int]:
    return price.ts, price.lane, price.offset


def _row(trade: Seen, price: Seen | None, revision: int) -> dict[str, Any]:
    there = [trade] if price is None else [trade, price]
    start = min(one.ts for one in there)
    right = [None, None] if price is None else [price.lane, price.offset]
    return {
        "query": "pairs",
        "window_id": start,
        "window_start": start,
        "window_end": trade.ts + 1,
        "key": [*trade.key, trade.lane, trade.offset, *right],
        "pane": "late" if revision else "full",
        "revision": revision,
        "records": len(there),
        "offsets": {one.lane: [one.offset, one.offset] for one in there},
        "values": {"trade": trade.v, "price": None if price is None else price.v},
    }


def on_time() -> Case:
    """No two times are equal, and nothing is late: as DuckDB's ASOF JOIN has it."""
    name = "asof"
    case = Case(
        name,
        "Each trade at the price that was newest then, if that is less than a minute old.",
        _PIPELINE.format(
            name=name, within="1 minute", left="trades", right="prices", slack="9000 days", more=""
        ),
        ["trades/0", "trades/1", "prices/0", "prices/1"],
    )
    log, rng = Log(case, 9_000 * 24 * HOUR), random.Random(12)
    times = rng.sample(range(START, START + 30 * MINUTE), 150)
    for number, ts in enumerate(times):
        topic = rng.choice(["trades", "prices"])
        k = rng.choice(["x", "x", "y", "z", None])
        log.record(f"{topic}/{rng.randrange(2)}", ts, number, k=k)
    Asof("trades", "prices", MINUTE).take(case, log)
    case.end()
    return case


def equal_times(left: str = "a", right: str = "b") -> Case:
    """Equal times within and across the topics, whatever their names are; exactly D old."""
    name = f"asof_equal_{left}_{right}"
    case = Case(
        name,
        "Prices of the very second of the trade count, and of several the last.",
        _PIPELINE.format(
            name=name, within="3 s", left=left, right=right, slack="9000 days", more=""
        ),
        [f"{left}/0", f"{left}/1", f"{right}/0", f"{right}/1"],
    )
    log, rng = Log(case, 9_000 * 24 * HOUR), random.Random(13)
    for number in range(120):
        ts = START + rng.randrange(25) * SECOND - rng.choice([0, 0, 0, 1])
        lane = f"{rng.choice([left, right])}/{rng.randrange(2)}"
        log.record(lane, ts, number, k=rng.choice(["x", "y"]))
    Asof(left, right, 3 * SECOND).take(case, log)
    case.end()
    return case


def late(policy: str) -> Case:
    """Late trades, and late prices that change what earlier trades have shown."""
    name = f"asof_late_{policy}"
    more = "late: {policy: dead_letter}\n"
    rules = Asof("trades", "prices", 2 * MINUTE)
    if policy == "update":
        more = "late: {policy: update, every: 30 s}\nretention: 5 minutes\n"
        rules = Asof("trades", "prices", 2 * MINUTE, every=30 * SECOND, retention=5 * MINUTE)
    case = Case(
        name,
        "A price is corrected after the trade was booked: the booking is taken back and made anew.",
        _PIPELINE.format(
            name=name, within="2 minutes", left="trades", right="prices", slack="20 s", more=more
        ),
        ["trades/0", "trades/1", "prices/0", "prices/1"],
    )
    log, rng, clock = Log(case, 20 * SECOND), random.Random(14), START
    for number in range(240):
        clock += rng.randrange(15 * SECOND)
        behind = rng.choice([0, 0, 0, 10, 30, 60, 119, 120, 150, 300, 420, 440]) * SECOND
        ts = clock - behind
        ts -= ts % (10 * SECOND) if rng.random() < 0.4 else 0
        lane = f"{rng.choice(['trades', 'prices'])}/{rng.randrange(2)}"
        log.record(lane, ts, number, k=rng.choice(["x", "x", "y", None]))
    rules.take(case, log)
    case.end()
    return case
