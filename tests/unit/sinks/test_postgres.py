"""Tables in PostgreSQL: which versions of a pipeline share a schema, and which views there are.

That the tables really grow so, and stay right, is shown on a real one: tests/night/containers.
"""

from __future__ import annotations

from hypothesis import example, given

from tests.unit.sinks.test_table_growth import ONE, VERSIONS, Version
from windowing.model import parse_pipeline
from windowing.spark.sinks.postgres_tables import additions, conflicts, view_names, wanted

_REPORTED_AS = {"timestamptz": "timestamp with time zone"}


def there(version: Version) -> dict[str, dict[str, str]]:
    """What the database reports of the tables of a version."""
    return {
        name: {column: _REPORTED_AS.get(type_, type_) for column, type_ in table.columns}
        for name, table in wanted(version.pipeline).items()
    }


def goes_together(old: Version, new: Version) -> bool:
    for query in {*old.queries} & {*new.queries}:
        was, now = old.key(query) | old.values(query), new.key(query) | new.values(query)
        if not {*new.key(query)} <= {*old.key(query)}:
            return False
        if any(was[name] != now[name] for name in {*was} & {*now}):
            return False
    return True


@given(old=VERSIONS, new=VERSIONS)
@example(old=ONE, new=Version({"a": (("k", "z"), ("n: count",))}))
@example(old=ONE, new=Version({"a": ((), ("n: count",))}))
@example(old=ONE, new=Version({"a": (("k",), ("n: mean(v)",))}))
def test_rows_go_together_if_types_do_and_the_key_has_its_columns(
    old: Version, new: Version
) -> None:
    have, want = there(old), wanted(new.pipeline)
    assert (not conflicts(have, want)) == goes_together(old, new)
    if not conflicts(have, want):
        columns = {f"{t}.{c}" for t, table in want.items() for c, _ in table.columns if t in have}
        known = {f"{table}.{column}" for table in have for column in have[table]}
        said = additions(have, want)
        tables = {line.removeprefix("new table ") for line in said if "new table" in line}
        assert tables == {*want} - {*have}
        named = {line.split()[2] for line in said if "new column" in line}
        assert named == columns - known


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
