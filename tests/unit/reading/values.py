"""Cases of types, expressions and metadata."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from decimal import Decimal
from typing import Any

from tests.unit.reading.plain_python import (
    HOUR,
    START,
    Case,
    Taken,
    all_of,
    any_of,
    line_of,
    mean_of,
    some,
)

_MONEY = """
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
"""


def _by_country(found: list[Taken]) -> dict[str, Any]:
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


def _by_amount(found: list[Taken]) -> dict[str, Any]:
    dates = some([one.fields["booked"] for one in found])
    return {"n": len(found), "dates": dates or None}


def money() -> Case:
    """Types: decimals in all spellings, booleans, dates; a path that is not always there."""
    case = Case(
        "money",
        "Amounts come as numbers and as text, and the sums have to be right to the cent.",
        _MONEY,
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

    keyed = [
        Taken(t.ts, t.topic, t.partition, t.offset, (t.fields["amount"], t.fields["ok"]), t.fields)
        for t in taken
    ]
    case.sum_up("by_amount", 24 * HOUR, keyed, _by_amount)
    case.sum_up("by_country", HOUR, taken, _by_country)
    case.end()
    return case


_ORDERS = """
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
    code: cast(substr(items[0].sku, 2) AS int)
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
"""


def _of_orders(found: list[Taken]) -> dict[str, Any]:
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


def orders() -> Case:
    """Expressions: derived fields and keys, rules, a filter, aggregates over expressions."""
    case = Case(
        "orders",
        "Revenue per label of what is no test, with prices and quantities that are checked first.",
        _ORDERS,
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

    case.sum_up("revenue", HOUR, taken, _of_orders)
    case.end()
    return case


_BROKER = """
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
"""


def _of_region(found: list[Taken]) -> dict[str, Any]:
    keys = some([one.fields["key"] for one in found])
    return {
        "n": len(found),
        "balance": sum(one.fields["signed"] for one in found),
        "last_key": keys[-1] if keys else None,
        "partitions": len({one.partition for one in found}),
        "furthest": max(one.offset for one in found),
    }


def broker() -> Case:
    """Kafka's own fields, several topics: event time, keys and values from them."""
    case = Case(
        "broker",
        "Time, key and region stand beside the value, and payments and refunds are one stream.",
        _BROKER,
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

    case.sum_up("balance", HOUR, taken, _of_region)
    case.end()
    return case
