"""Truth, money and dates in a real PostgreSQL: by its own types, and read back by `verify`."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import psycopg

from chaos.readers.postgres import read_postgres
from chaos.verdict.verify import verify
from tests.stack.containers.test_postgres_reads import write
from tests.strategies import entry
from windowing.model import parse_pipeline
from windowing.spark.sinks import PostgresSink

TEXT = """
name: typed
source:
  topic: s
  partitions: 1
  format: json
  event_time: {field: ts, unit: iso}
  fields:
    {ok: "bool?", net: "decimal(12,2)?", seen: "timestamp?", day: "date?", huge: "decimal(38,4)?"}
  disorder: ordered
queries:
  keys:
    window: RANGE 10 s SLIDE 10 s WATTR ts
    group_by: [ok, net, seen, day]
    aggregates: {n: count}
  values:
    window: RANGE 10 s SLIDE 10 s WATTR ts
    aggregates:
      any: any(ok)
      both: all(ok) where net > 0
      total: sum(net)
      mean: mean(net)
      huge: sum(huge)
      first: min(seen)
      days: collect(day)
      times: collect(seen)
      nets: collect(net)
      oks: collect(ok)
sink: {postgres: typed}
"""
VALUES = [
    {"ok": True, "net": 12.5, "seen": "2024-02-29T23:59:59.000001Z", "day": "2024-02-29"},
    {"ok": False, "net": "-0.01", "seen": "1969-12-31T23:59:59Z", "day": "0001-01-01"},
    {"ok": None, "net": None, "seen": None, "day": None, "huge": "9" * 34 + ".9999"},
    {"ok": True, "net": 0, "seen": "9999-12-31T23:59:59.999999Z", "day": "9999-12-31"},
]


def test_values_arrive_in_types_of_the_database_and_are_read_back(postgres: str) -> None:
    del postgres
    pipeline = parse_pipeline(TEXT)
    log = []
    for at, value in enumerate(VALUES):
        read = {"ts": f"2024-05-01T00:00:0{at}Z", **value}
        log.append(entry({"source": "s", "partition": 0, "offset": at, "value": read}))
    log.append(entry({"source": "s", "partition": 0, "offset": 9, "control": {"end": True}}))
    write(pipeline, PostgresSink(pipeline, "typed", "r1"), log)
    verdict = verify(pipeline, iter(log), read_postgres(pipeline, "r1"))
    assert verdict.ok, "\n".join(verdict.lines())
    assert len(list(read_postgres(pipeline, "r1").rows)) == 5
    with psycopg.connect(options="-c TimeZone=UTC") as connection:
        types = dict(
            connection.execute(
                "select column_name, format_type(atttypid, atttypmod)"
                " from information_schema.columns join pg_attribute"
                " on attrelid = 'typed.values'::regclass and attname = column_name"
                " where table_schema = 'typed' and table_name = 'values'"
            ).fetchall()
        )
        keys = connection.execute(
            "select ok, net, seen, day from typed.keys order by seen nulls last limit 2"
        ).fetchall()
        shown = connection.execute(
            'select "any", "both", total, mean, huge, first, oks, nets from typed."values"'
        ).fetchone()
    assert {name: types[name] for name in ("any", "total", "mean", "huge", "first")} == {
        "any": "boolean",
        "total": "numeric(38,2)",
        "mean": "numeric(38,8)",
        "huge": "numeric(38,4)",
        "first": "timestamp with time zone",
    }
    assert [types[name] for name in ("days", "times", "oks")] == [
        *("date[]", "timestamp with time zone[]", "boolean[]")
    ]
    assert keys == [
        (
            *(False, Decimal("-0.01"), datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
            date(1, 1, 1),
        ),
        (
            *(True, Decimal("12.50"), datetime(2024, 2, 29, 23, 59, 59, 1, tzinfo=UTC)),
            date(2024, 2, 29),
        ),
    ]
    assert shown == (
        *(True, True, Decimal("12.49"), Decimal("4.16333333"), Decimal("9" * 34 + ".9999")),
        *(datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC), [True, False, True]),
        [Decimal("12.50"), Decimal("-0.01"), Decimal("0.00")],
    )
