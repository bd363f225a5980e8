"""Which tables have a view of their newest rows in PostgreSQL."""

from __future__ import annotations

from windowing.model import parse_pipeline
from windowing.spark.sinks.postgres_tables import view_names

LONGEST = "q" * (63 - len("_newest"))
PIPELINE = f"""
name: p
source: {{topic: s, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
  fields: {{v: int}}, disorder: {{slack: 2 us}}}}
sink: {{postgres: p}}
queries:
  plain: {{window: RANGE 5 us SLIDE 5 us WATTR ts, aggregates: {{n: count}}}}
  taken: {{window: RANGE 5 us SLIDE 5 us WATTR ts, aggregates: {{n: count}}}}
  taken_newest: {{window: RANGE 5 us SLIDE 5 us WATTR ts, aggregates: {{n: count}}}}
  {LONGEST}: {{window: RANGE 5 us SLIDE 5 us WATTR ts, aggregates: {{n: count}}}}
  {LONGEST}q: {{window: RANGE 5 us SLIDE 5 us WATTR ts, aggregates: {{n: count}}}}
"""


def test_none_has_another_tables_name_or_one_that_is_too_long() -> None:
    assert view_names(parse_pipeline(PIPELINE)) == [
        "plain_newest",
        "taken_newest_newest",
        f"{LONGEST}_newest",
    ]


def test_none_shows_the_newest_of_rows_that_add_up() -> None:
    discarding = parse_pipeline(PIPELINE.replace("sink:", "accumulation: discarding\nsink:"))
    assert view_names(discarding) == []
