"""Families by hand: what is shared, and what a late record is in two queries at once."""

from __future__ import annotations

import pytest

from tests.strategies import entry
from windowing.engine.added import why_not
from windowing.engine.convert import convert
from windowing.engine.families.boundaries import Boundaries, reduced
from windowing.engine.families.forming import families_of
from windowing.engine.plan import plan_of
from windowing.engine.reading.batches import batches
from windowing.engine.reading.pack import RawRows
from windowing.engine.storage.state import MemoryStore
from windowing.engine.tuning import Tuning, tuned
from windowing.engine.wids import Grid
from windowing.model import parse_pipeline
from windowing.model.file.versions import with_shards
from windowing.model.rows import row_lines
from windowing.runtime.local import LocalEngine, Snapshot, run
from windowing.semantics import evaluate

pytestmark = pytest.mark.usefixtures("two_share")

TEXT = """
name: p
source: {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us},
  fields: {v: int}, disorder: {slack: 2 us}}
shards: 1
queries:
  short: {window: RANGE 10 us SLIDE 10 us WATTR ts, aggregates: {total: sum(v)}}
  long: {window: RANGE 20 us SLIDE 20 us WATTR ts, aggregates: {total: sum(v), n: count}}
  other: {window: RANGE 20 us SLIDE 20 us WATTR ts, aggregates: {most: max(v)}}
  drops: {window: RANGE 10 us SLIDE 10 us WATTR ts, aggregates: {n: count}, late: {policy: drop}}
"""
PIPELINE = parse_pipeline(TEXT)


def fed(*records: tuple[int, int]) -> LocalEngine:
    engine = LocalEngine(PIPELINE)
    values = [f'{{"ts":{ts},"v":{v}}}'.encode() for ts, v in records]
    nothing = [None] * len(values)
    for offset, value in enumerate(values):
        engine.feed({0: RawRows([offset], [value], nothing[:1], nothing[:1])})
    return engine


def test_a_record_is_late_for_a_short_window_and_on_time_for_a_long_one() -> None:
    """13 brings the lane to 11, past window [0, 10): 7 is late for it, not for [0, 20)."""
    engine = fed((3, 1), (13, 10), (7, 100), (25, 1000))
    found = {(row.query, row.window_id): dict(row.values) for row in engine.output.rows}
    assert found == {
        ("short", 0): {"total": 1},
        ("short", 1): {"total": 10},
        ("long", 0): {"total": 111, "n": 3},
        ("other", 0): {"most": 100},
        ("drops", 0): {"n": 1},
        ("drops", 1): {"n": 1},
    }
    letters = [
        (letter.offset, letter.query, letter.reason) for letter in engine.output.dead_letters
    ]
    assert letters == [(2, "short", "late")]
    counts = {name: (one["applied"], one["dead"]) for name, one in engine.output.counts.items()}
    assert counts == {"short": (3, 1), "long": (4, 0), "other": (4, 0), "drops": (3, 0)}


SLIDING = """
name: p
source: {{topic: s, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
  fields: {{v: int}}, disorder: {{slack: 2 us}}}}
retention: 100 us
accumulation: {accumulation}
late: {{policy: update, every: 10 us, mode: {mode}}}
queries:
  short: {{window: RANGE 20 us SLIDE 10 us WATTR ts, aggregates: {{total: sum(v)}}}}
  long: {{window: RANGE 40 us SLIDE 10 us WATTR ts, aggregates: {{total: sum(v), n: count}}}}
  wide: {{window: RANGE 60 us SLIDE 20 us WATTR ts, aggregates: {{most: max(v)}}}}
"""


@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.parametrize("mode", ["generous", "consistent"])
@pytest.mark.parametrize("accumulation", ["accumulating", "discarding", "retracting"])
def test_members_at_once_give_what_each_gives(accumulation: str, mode: str, rows: int) -> None:
    """7, 18, 31 and 41 are late for the first of their windows, and on time for later ones."""
    pipeline = parse_pipeline(SLIDING.format(accumulation=accumulation, mode=mode))
    log = [
        entry({"source": "s", "partition": 0, "offset": at, "value": {"ts": ts, "v": at}})
        for at, ts in enumerate((5, 13, 33, 7, 18, 35, 50, 31, 80, 41, 199))
    ]
    with tuned(members_at_once_from=1):
        found = run(pipeline, batches(log, rows, pipeline)).rows
    assert sorted(row_lines(found)) == sorted(row_lines(evaluate(pipeline, log).rows))


def test_who_shares_is_by_key_and_late_policy_and_not_by_the_order_of_the_file() -> None:
    [family] = plan_of(PIPELINE).families
    assert (family.name, sorted(family.names)) == ("shared:long", ["long", "other", "short"])
    assert [aggregate.name for aggregate in family.query.aggregates] == ["total", "n", "most"]
    lines = TEXT.splitlines()
    turned = parse_pipeline("\n".join([*lines[:-4], *reversed(lines[-4:])]) + "\n")
    assert {*families_of(turned)} == {*families_of(PIPELINE)}
    with tuned(share_from_queries=Tuning().share_from_queries):
        assert plan_of(PIPELINE).families == ()  # too few by default


def test_boundaries_that_others_include_are_left_out() -> None:
    assert reduced([(6, 0), (2, 0), (4, 2), (9, 1), (3, 1)]) == ((2, 0), (3, 1))
    grids = [Grid(10, 4, 0), Grid(8, 8, 0)]  # starts of the first at 2 mod 4
    assert Boundaries.of_windows(grids).series == ((4, 0), (4, 2))
    assert Boundaries.of_windows(grids).levelled().series == ((2, 0),)


MANY = parse_pipeline(
    TEXT
    + "".join(
        f"  q{n:02}: {{window: RANGE {n % 3 + 1} us SLIDE {n % 5 + 1} us WATTR ts, "
        "aggregates: {n: count}}\n"
        for n in range(40)
    )
)


def stores(values: tuple[dict[str, bytes], ...]) -> list[MemoryStore]:
    found = [MemoryStore() for _ in values]
    for store, own in zip(found, values, strict=True):
        store.restore(own)
    return found


def test_shared_state_moves_to_another_number_of_shards() -> None:
    after = with_shards(MANY, 3)
    first = RawRows([0, 1], [b'{"ts":3,"v":1}', b'{"ts":13,"v":2}'], [None] * 2, [None] * 2)
    rest = RawRows([2, 3], [b'{"ts":12,"v":3}', b'{"ts":40,"v":4}'], [None] * 2, [None] * 2)
    one, other = LocalEngine(MANY), LocalEngine(after)
    one.feed({0: first})
    before = one.snapshot()
    moved = convert(MANY, after, stores(before.lanes), stores(before.shards))
    assert moved.rows > 0
    other.restore(
        Snapshot(
            tuple(store.snapshot() for store in moved.lanes),
            tuple(store.snapshot() for store in moved.shards),
        )
    )
    sent = len(one.output.rows)
    one.feed({0: rest})
    other.feed({0: rest})
    assert [*row_lines(other.output.rows)] == [*row_lines(one.output.rows[sent:])]
    assert other.output.rows


def test_queries_that_would_share_are_not_added_to_a_run() -> None:
    window = "RANGE 5 us SLIDE 5 us WATTR ts ORIGIN 1000 us"
    more = f"  late: {{window: {window}, aggregates: {{n: count}}}}\n"
    after = parse_pipeline(MANY.text + more)
    with tuned(share_from_queries=Tuning().share_from_queries):
        why = why_not(plan_of(MANY), plan_of(after), "late")
    assert why is not None
    assert "would share slices" in why
    with tuned(share_from_queries=1_000):
        assert why_not(plan_of(MANY), plan_of(after), "late") is None
