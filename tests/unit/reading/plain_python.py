"""What the recorded cases of reading have to give, computed by plain Python.

It is written from the contract, and imports nothing of the project: neither engine nor definition
can have misled it. `python -m tests.unit.reading.plain_python` writes `tests/data/reading` again.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

FOLDER = Path("tests/data/reading")
MINUTE = 60_000_000
HOUR = 60 * MINUTE
START = 1_714_521_600_000_000  # 2024-05-01T00:00:00Z


@dataclass
class Taken:
    """A record that windows see."""

    ts: int
    topic: str
    partition: int
    offset: int
    key: tuple[Any, ...]
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass
class Case:
    """One folder.

    Attributes:
        lanes: in the order of their numbers.
        dead: topic, partition, offset, query and reason.
        notes: a text that standard error has.
    """

    name: str
    need: str
    pipeline: str
    lanes: list[str]
    lines: list[dict[str, Any] | str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    dead: list[tuple[str, int, int, str | None, str]] = field(default_factory=list)
    arguments: str = ""
    notes: str = ""

    def end(self) -> None:
        for lane in self.lanes:
            topic, _, partition = lane.partition("/")
            line = {"source": topic, "partition": int(partition), "offset": 1_000_000}
            self.lines.append({**line, "control": {"end": True}})

    def sum_up(
        self, query: str, width: int, taken: Sequence[Taken], values: Callable[[list[Taken]], Any]
    ) -> None:
        """Add the rows of tumbling windows; no record is late, and everything has ended."""
        windows = defaultdict[tuple[int, tuple[Any, ...]], list[Taken]](list)
        for one in taken:
            windows[one.ts // width, one.key].append(one)
        for (number, key), found in sorted(
            windows.items(), key=lambda w: (w[0][0], order(w[0][1]))
        ):
            found.sort(key=lambda t: (t.ts, self.lanes.index(f"{t.topic}/{t.partition}"), t.offset))
            offsets = dict[str, list[int]]()
            for lane in self.lanes:
                own = [t.offset for t in found if f"{t.topic}/{t.partition}" == lane]
                if own:
                    offsets[lane] = [min(own), max(own)]
            row = {
                "query": query,
                "window_id": number,
                "window_start": number * width,
                "window_end": (number + 1) * width,
                "key": [spelled(part) for part in key],
                "pane": "full",
                "revision": 0,
                "records": len(found),
                "offsets": offsets,
                "values": {name: spelled(value) for name, value in values(found).items()},
            }
            self.rows.append(line_of(row))

    def files(self) -> dict[str, str]:
        """What its folder holds, by the names of files."""
        lines = [one if isinstance(one, str) else line_of(one) for one in self.lines]
        dead = sorted(self.dead, key=lambda d: (d[:3], d[3] is not None, d[3] or ""))
        names = ("source", "partition", "offset", "query", "reason")
        found = {
            "need.md": self.need + "\n",
            "pipeline.yml": self.pipeline.lstrip(),
            "events.jsonl": "".join(f"{line}\n" for line in lines),
            "OUT.jsonl": "".join(f"{row}\n" for row in self.rows),
            "OUT.dead.jsonl": "".join(
                f"{line_of(dict(zip(names, one, strict=True)))}\n" for one in dead
            ),
            "arguments.txt": self.arguments,
            "notes.txt": self.notes,
        }
        return {name: text for name, text in found.items() if text or name.startswith("OUT")}


def line_of(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def spelled(value: Any) -> Any:
    if isinstance(value, list):
        return [spelled(one) for one in value]
    return format(value, "f") if isinstance(value, Decimal) else value


def order(key: tuple[Any, ...]) -> list[tuple[int, Any]]:
    return [(0, 0) if p is None else (2, p) if isinstance(p, str) else (1, p) for p in key]


def some(values: Sequence[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def mean_of(values: Sequence[Decimal], digits: int) -> Decimal | None:
    """The mean with so many digits, ties to even."""
    if not values:
        return None
    exact = sum(map(Fraction, values), Fraction(0)) / len(values)
    with localcontext() as context:
        context.prec = 200
        near = Decimal(exact.numerator) / Decimal(exact.denominator)
        return near.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)


def any_of(values: Sequence[bool | None]) -> bool | None:
    if True in values:
        return True
    return None if None in values or not values else False


def all_of(values: Sequence[bool | None]) -> bool | None:
    if False in values:
        return False
    return None if None in values or not values else True


def money() -> Case:
    """Types: decimals in all spellings, booleans, dates; a path that is not always there."""
    case = Case(
        "money",
        "Amounts come as numbers and as text, and the sums have to be right to the cent.",
        """
name: money
source:
  topic: payments
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {card.country: "string?", amount: "decimal(12,2)", ok: "bool?", booked: "date?",
    seen: "timestamp?"}
  disorder: {slack: 2 days}
queries:
  by_country:
    window: RANGE 1 hour SLIDE 1 hour WATTR ts
    group_by: [card.country]
    aggregates: {n: count, with_date: count(booked), total: sum(amount), average: mean(amount),
      low: min(amount), high: max(amount), any_ok: any(ok), all_ok: all(ok),
      days: count_distinct(booked), newest: max(booked), seen: max(seen), first: first(amount)}
  by_amount:
    window: RANGE 1 day SLIDE 1 day WATTR ts
    group_by: [amount, ok]
    aggregates: {n: count, dates: collect(booked)}
sink: {table: money}
""",
        ["payments/0", "payments/1"],
    )
    rng = random.Random(20240501)
    good = ["9.00", "10", "10.00", "1e1", "-0.01", "9999999999.99", "0", "-0.0", "1.100", "2.5E-1"]
    bad = ["1.234", "10000000000.00", "true", '"x"', "null", '"1,50"', "[1]"]
    offsets, taken = [0, 0], list[Taken]()
    for number in range(160):
        partition, ts = rng.randrange(2), START + rng.randrange(5 * HOUR)
        offset, offsets[partition] = offsets[partition], offsets[partition] + 1
        written = rng.choice(good) if rng.random() < 0.93 else rng.choice(bad)
        quoted = f'"{written}"' if written in good and rng.random() < 0.3 else written
        ok = rng.choice(["true", "false", "null", "absent", "1" if number % 40 == 7 else "true"])
        booked = rng.choice(["2024-02-29", "2024-05-01", None, "2023-02-29" * (number % 40 == 9)])
        card = rng.choice(['{"country":"DE"}', '{"country":"ÅL"}', "{}", "null", "absent"])
        card = '"DE"' if number % 50 == 3 else card
        seen = rng.choice([ts + rng.randrange(100), None])
        members = [f'"ts":{ts}', f'"amount":{quoted}']
        members += [] if card == "absent" else [f'"card":{card}']
        members += [] if ok == "absent" else [f'"ok":{ok}']
        members += [f'"booked":{json.dumps(booked or None)}', f'"seen":{json.dumps(seen)}']
        raw = "{" + ",".join(members) + "}"
        place = {"source": "payments", "partition": partition, "offset": offset}
        case.lines.append(line_of({**place, "raw": raw}))
        wrong = written in bad or ok == "1" or booked == "2023-02-29" or card == '"DE"'
        if wrong:
            # A null key is refused before any type is looked at.
            reason = "null_key" if written == "null" else "bad_type"
            case.dead.append(("payments", partition, offset, None, reason))
            continue
        country = {'{"country":"DE"}': "DE", '{"country":"ÅL"}': "ÅL"}.get(card)
        amount = Decimal(written).quantize(Decimal("0.01")) + 0
        amount = abs(amount) if amount == 0 else amount
        judged = {"true": True, "false": False}.get(ok)
        fields = {"amount": amount, "ok": judged, "booked": booked or None, "seen": seen}
        taken.append(Taken(ts, "payments", partition, offset, (country,), fields))

    def by_country(found: list[Taken]) -> dict[str, Any]:
        amounts = [one.fields["amount"] for one in found]
        dates = some([one.fields["booked"] for one in found])
        oks = [one.fields["ok"] for one in found]
        return {
            "n": len(found),
            "with_date": len(dates),
            "total": sum(amounts, Decimal("0.00")),
            "average": mean_of(amounts, 8),
            "low": min(amounts),
            "high": max(amounts),
            "any_ok": any_of(oks),
            "all_ok": all_of(oks),
            "days": len(set(dates)),
            "newest": max(dates, default=None),
            "seen": max(some([one.fields["seen"] for one in found]), default=None),
            "first": amounts[0],
        }

    def by_amount(found: list[Taken]) -> dict[str, Any]:
        dates = some([one.fields["booked"] for one in found])
        return {"n": len(found), "dates": dates or None}

    keyed = [
        Taken(t.ts, t.topic, t.partition, t.offset, (t.fields["amount"], t.fields["ok"]), t.fields)
        for t in taken
    ]
    case.sum_up("by_amount", 24 * HOUR, keyed, by_amount)
    case.sum_up("by_country", HOUR, taken, by_country)
    case.end()
    return case


def orders() -> Case:
    """Expressions: derived fields and keys, rules, a filter, aggregates over expressions."""
    case = Case(
        "orders",
        "Revenue per label of what is no test, with prices and quantities that are checked first.",
        """
name: orders
source:
  topic: orders
  partitions: 1
  format: json
  event_time: {field: ts, unit: ms}
  unknown_fields: ignore
  fields: {price: "decimal(10,2)", quantity: "int?", kind: string, test: "bool?", "items[0].sku":
    "string?"}
  derive:
    label: upper(kind) || CASE WHEN price >= 100 THEN ':big' ELSE '' END
    code: cast(substr("items"[0].sku, 2) AS int)
    net: price * quantity
  rules:
    - {name: positive, check: price > 0, on_fail: dead_letter}
    - {name: few, check: quantity <= 10, on_fail: warn}
  where: test IS NULL OR NOT test
  disorder: {slack: 1 day}
queries:
  revenue:
    window: RANGE 1 hour SLIDE 1 hour WATTR ts
    group_by: [label]
    aggregates:
      n: count
      revenue: sum(price * quantity)
      large: count where net > 50
      best: max(price) where kind = 'book'
      half: sum(quantity div 2)
      code: max(code)
sink: {table: orders}
""".replace('"items"[0].sku', "items[0].sku"),
        ["orders/0"],
    )
    rng, taken = random.Random(7), list[Taken]()
    for offset in range(150):
        ts_ms = START // 1_000 + rng.randrange(3 * 3_600_000)
        price = Decimal(rng.choice(["19.99", "100", "250.5", "0.01", "-3", "0"]))
        quantity = rng.choice([1, 2, 5, 11, -7, None, 9_223_372_036_854_775_807])
        kind, test = rng.choice(["book", "Straße", "pen"]), rng.choice([True, False, None])
        sku = rng.choice(["x12", "y7", None, "zz" if offset % 20 == 4 else "z0"])
        items: list[Any] = [] if sku is None else [{"sku": sku, "more": [1]}]
        value = {"ts": ts_ms, "price": str(price), "quantity": quantity, "kind": kind}
        value |= {"test": test, "items": items, "unknown": {"deep": [offset]}}
        case.lines.append({"source": "orders", "partition": 0, "offset": offset, "value": value})
        if sku == "zz":
            case.dead.append(("orders", 0, offset, None, "bad_expression"))
            continue
        if price <= 0:
            case.dead.append(("orders", 0, offset, None, "rule:positive"))
            continue
        if test is True:
            continue
        # Of the letters, only those of ASCII become capitals.
        label = "".join(c.upper() if c.isascii() else c for c in kind)
        label += ":big" if price >= 100 else ""
        net = None if quantity is None else price.quantize(Decimal("0.01")) * quantity
        fields = {"price": price.quantize(Decimal("0.01")), "quantity": quantity, "net": net}
        fields |= {"kind": kind, "code": None if sku is None else int(sku[1:])}
        taken.append(Taken(ts_ms * 1_000, "orders", 0, offset, (label,), fields))

    def values(found: list[Taken]) -> dict[str, Any]:
        nets = some([one.fields["net"] for one in found])
        quantities = some([one.fields["quantity"] for one in found])
        books = [one.fields["price"] for one in found if one.fields["kind"] == "book"]
        return {
            "n": len(found),
            "revenue": sum(nets, Decimal("0.00")) if nets else None,
            "large": sum(net > 50 for net in nets),
            "best": max(books, default=None),
            "half": sum(quantity // 2 for quantity in quantities) if quantities else None,
            "code": max(some([one.fields["code"] for one in found]), default=None),
        }

    case.sum_up("revenue", HOUR, taken, values)
    case.end()
    return case


def broker() -> Case:
    """Kafka's own fields, several topics: event time, keys and values from them."""
    case = Case(
        "broker",
        "Time, key and region stand beside the value, and payments and refunds are one stream.",
        """
name: broker
source:
  topics: {payments: 2, refunds: 1}
  format: json
  event_time: {expr: $timestamp}
  fields: {amount: int}
  derive: {signed: CASE WHEN $topic = 'refunds' THEN -amount ELSE amount END}
  disorder: {slack: 2 days}
queries:
  balance:
    window: RANGE 1 hour SLIDE 1 hour WATTR event_time
    group_by: [$headers.region]
    aggregates: {n: count, balance: sum(signed), last_key: last($key), partitions:
      count_distinct($partition), furthest: max($offset)}
sink: {table: broker}
""",
        ["payments/0", "payments/1", "refunds/0"],
    )
    rng, taken, offsets = random.Random(11), list[Taken](), defaultdict[str, int](int)
    for _ in range(120):
        lane = rng.choice(case.lanes)
        topic, _, partition = lane.partition("/")
        offset, offsets[lane] = offsets[lane], offsets[lane] + rng.choice([1, 1, 3])
        ts, amount = START + rng.randrange(2 * HOUR), rng.randrange(-5, 1_000)
        key, region = rng.choice([None, "k1", "ключ"]), rng.choice([None, "north", "süd", ""])
        line = {"source": topic, "partition": int(partition), "offset": offset}
        line |= {"value": {"amount": amount}}
        line |= {} if key is None else {"key": key}
        headers = {"trace": "1"} | ({} if region is None else {"region": region})
        line |= {"headers": headers} if region is not None or rng.random() < 0.5 else {}
        if rng.random() < 0.05:
            case.dead.append((topic, int(partition), offset, None, "missing_event_time"))
        else:
            line["timestamp_us"] = ts
            signed = -amount if topic == "refunds" else amount
            fields = {"signed": signed, "key": key, "partition": int(partition), "offset": offset}
            taken.append(Taken(ts, topic, int(partition), offset, (region,), fields))
        case.lines.append(line)

    def values(found: list[Taken]) -> dict[str, Any]:
        keys = some([one.fields["key"] for one in found])
        return {
            "n": len(found),
            "balance": sum(one.fields["signed"] for one in found),
            "last_key": keys[-1] if keys else None,
            "partitions": len({one.partition for one in found}),
            "furthest": max(one.offset for one in found),
        }

    case.sum_up("balance", HOUR, taken, values)
    case.end()
    return case


_TIMES = """
name: {name}
source:
  topic: s
  partitions: 1
  format: json
  event_time: {{field: ts, {spelled}}}
  fields: {{}}
  disorder: {{slack: 4000 days}}
queries:
  q: {{window: RANGE 1 us SLIDE 1 us WATTR ts, aggregates: {{n: count}}}}
sink: {{table: times}}
"""
_NOON = START + 12 * HOUR


def times(name: str, need: str, spelled: str, found: dict[str, int | str]) -> Case:
    """One way of spelling times: texts of JSON, and the instant of each or why it is none."""
    case = Case(name, need, _TIMES.format(name=name, spelled=spelled), ["s/0"])
    taken = []
    for offset, (text, instant) in enumerate(found.items()):
        raw = f'{{"ts":{text}}}'
        case.lines.append({"source": "s", "partition": 0, "offset": offset, "raw": raw})
        if isinstance(instant, str):
            case.dead.append(("s", 0, offset, None, instant))
        elif instant >= 0:  # before the origin it is in no window
            taken.append(Taken(instant, "s", 0, offset, ()))
    case.sum_up("q", 1, taken, lambda records: {"n": len(records)})
    case.end()
    return case


def iso() -> Case:
    bad = "bad_event_time"
    return times(
        "times_iso",
        "Every service writes the same instant in another of ISO's ways.",
        "unit: iso",
        {
            '"2024-05-01T12:00:00Z"': _NOON,
            '"2024-05-01 12:00:00"': _NOON,
            '"2024-05-01t12:00:00z"': _NOON,
            '"2024-05-01T14:00:00+0200"': _NOON,
            '"2024-05-01T14:00:00+02"': _NOON,
            '"2024-05-01T07:30-04:30"': _NOON,
            '"2024-05-01T12:00"': _NOON,
            '"2024-05-01T12:00:00.1"': _NOON + 100_000,
            '"2024-05-01T12:00:00.123456789Z"': _NOON + 123_456,
            '"2024-05-01T12:00:00.999999999999+00"': _NOON + 999_999,
            '"1969-12-31T23:59:59.9999999Z"': -1,
            '"20240501T120000Z"': bad,
            '"2024-05-01T12:00:00,5Z"': bad,
            '"2024-05-01"': bad,
            '"2024-05-01T12:00:60Z"': bad,
            '"2024-05-01T24:00:00Z"': bad,
            '"2024-05-01T12:00:00Z "': bad,
            '"2024-05-01T12:00:00 CET"': bad,
            '"2024-05-01T12:00:00.1234567890123Z"': bad,
            "1714564800": bad,
            "null": "missing_event_time",
        },
    )


def ns() -> Case:
    return times(
        "times_ns",
        "Nanoseconds as integers: what is finer than a microsecond is cut off.",
        "unit: ns",
        {
            "1714564800000000000": _NOON,
            "1714564800000000999": _NOON,
            "1714564800000001000": _NOON + 1,
            "1714564800000000000.0": "bad_event_time",
            '"1714564800000000000"': "bad_event_time",
        },
    )


def fraction() -> Case:
    return times(
        "times_fraction",
        "Seconds with a fraction, as programs in Python write them, and exact.",
        "unit: s, fraction: true",
        {
            "1714564800.1234567": _NOON + 123_456,
            "1714564800": _NOON,
            "1.7145648e9": _NOON,
            "1714564800.000001": _NOON + 1,
            "1714564800.9999999999": _NOON + 999_999,
            "17145648000000009e-7": _NOON,
            '"1714564800.5"': "bad_event_time",
            "true": "bad_event_time",
        },
    )


def text() -> Case:
    # Berlin is two hours ahead of UTC in summer, and one in winter.
    return times(
        "times_text",
        "Local times of a factory, with the hours that the clock skips and shows twice.",
        'unit: {text: "%d.%m.%Y %H:%M:%S", zone: Europe/Berlin}',
        {
            '"01.05.2024 14:00:00"': _NOON,
            '"01.01.2024 01:00:00"': 1_704_067_200_000_000,
            '"31.03.2024 01:59:59"': 1_711_846_799_000_000,
            '"31.03.2024 02:30:00"': "bad_event_time",
            '"31.03.2024 03:00:00"': 1_711_846_800_000_000,
            '"27.10.2024 02:30:00"': 1_729_989_000_000_000,
            '"27.10.2024 03:00:00"': 1_729_994_400_000_000,
            '"2024-05-01 14:00:00"': "bad_event_time",
            '"32.05.2024 14:00:00"': "bad_event_time",
            "1714564800": "bad_event_time",
        },
    )


def retries() -> Case:
    """Duplicates: within a time, per lane, and only of what was kept."""
    within, slack = 10 * MINUTE, 5 * MINUTE
    case = Case(
        "retries",
        "A producer sends again what it believes lost; each payment counts once.",
        """
name: retries
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {id: "string?", ok: bool}
  where: ok
  duplicates: {by: [id], within: 10 minutes}
  disorder: {slack: 5 minutes}
late: {policy: drop}
queries:
  q: {window: RANGE 1 day SLIDE 1 day WATTR ts, aggregates: {n: count, ids: count_distinct(id)}}
sink: {table: retries}
""",
        ["s/0", "s/1"],
    )
    rng, taken = random.Random(3), list[Taken]()
    kept: dict[int, list[tuple[str, int]]] = {0: [], 1: []}
    progress, offsets, clock = [-(1 << 63)] * 2, [0, 0], START + HOUR
    steps = (0, 1, MINUTE, within // 2, within - 1, within, within + 1, 2 * within)
    for _ in range(300):
        partition = rng.randrange(2)
        offset, offsets[partition] = offsets[partition], offsets[partition] + 1
        clock += rng.choice([0, MINUTE // 3])
        ts = clock - rng.choice(steps)
        name, ok = rng.choice(["a", "b", "c", None]), rng.random() < 0.8
        value = {"ts": ts, "id": name, "ok": ok}
        case.lines.append({"source": "s", "partition": partition, "offset": offset, "value": value})
        before = progress[partition]
        progress[partition] = max(before, ts - slack)
        if not ok:
            continue
        near = [t for own, t in kept[partition] if own == name and abs(ts - t) < within]
        if name is not None and near and ts > before - within:
            continue
        kept[partition].append((name or "", ts))
        taken.append(Taken(ts, "s", partition, offset, (), {"id": name}))
    case.sum_up(
        "q",
        24 * HOUR,
        taken,
        lambda found: {
            "n": len(found),
            "ids": len(set(some([one.fields["id"] for one in found]))),
        },
    )
    case.end()
    return case


def plain() -> Case:
    """Plain lines, without places: a lane of their own, and an end."""
    case = Case(
        "plain_lines",
        "A file of values, one a line, as programs log them.",
        """
name: plain
source:
  topic: clicks
  partitions: 1
  format: json
  event_time: {field: at, unit: iso}
  fields: {page: string}
  disorder: {slack: 1 day}
queries:
  q: {window: RANGE 1 hour SLIDE 1 hour WATTR at, group_by: [page], aggregates: {n: count}}
sink: {table: clicks}
""",
        ["clicks/0"],
        arguments="--as clicks --end\n",
    )
    values = [("12:00:00", "home"), ("12:10:00", "cart"), ("12:59:59.5", "home"), ("13:00", "home")]
    taken = []
    for offset, (clock, page) in enumerate(values):
        case.lines.append({"at": f"2024-05-01T{clock}Z", "page": page})
        hours, minutes, *seconds = clock.split(":")
        us = int(Decimal(seconds[0]) * 1_000_000) if seconds else 0
        ts = START + int(hours) * HOUR + int(minutes) * MINUTE + us
        taken.append(Taken(ts, "clicks", 0, offset, (page,)))
    case.lines.append('{"at": "2024-05-01T13:00:01Z", "page": 7}')
    case.dead.append(("clicks", 0, 4, None, "bad_type"))
    case.sum_up("q", HOUR, taken, lambda found: {"n": len(found)})
    return case


def cases() -> Iterator[Case]:
    """All of them."""
    for make in (money, orders, broker, iso, ns, fraction, text, retries, plain):
        yield make()


if __name__ == "__main__":
    for case in cases():
        (FOLDER / case.name).mkdir(parents=True, exist_ok=True)
        for name, content in case.files().items():
            (FOLDER / case.name / name).write_text(content, encoding="utf-8")
