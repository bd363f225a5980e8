"""Families by hand: what is shared, what is late in two queries at once, and what changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.strategies import Entry, lane_of
from tests.unit.engine.test_convert import as_snapshot, resharded
from windowing.engine.added import why_not
from windowing.engine.families.boundaries import Boundaries, reduced
from windowing.engine.families.forming import families_of
from windowing.engine.plan import plan_of
from windowing.engine.reading.batches import batches
from windowing.engine.reading.pack import RawRows
from windowing.engine.tuning import Tuning, tuned
from windowing.engine.wids import Grid
from windowing.model import Pipeline, parse_pipeline
from windowing.model.file.versions import with_shards
from windowing.model.rows import row_lines
from windowing.model.run_errors import CheckpointMismatch
from windowing.runtime.local import LocalEngine, run
from windowing.semantics import evaluate
from windowing.semantics.view import effective


@pytest.fixture(scope="module", autouse=True)
def _two_share() -> Iterator[None]:
    """As few as two queries share slices."""
    with tuned(share_from_queries=2):
        yield


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
    times = (5, 13, 33, 7, 18, 35, 50, 31, 80, 41, 199)
    log = lane_of({"value": {"ts": ts, "v": at}} for at, ts in enumerate(times))
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


def test_shared_state_moves_to_another_number_of_shards() -> None:
    after = with_shards(MANY, 3)
    first = RawRows([0, 1], [b'{"ts":3,"v":1}', b'{"ts":13,"v":2}'], [None] * 2, [None] * 2)
    rest = RawRows([2, 3], [b'{"ts":12,"v":3}', b'{"ts":40,"v":4}'], [None] * 2, [None] * 2)
    one, other = LocalEngine(MANY), LocalEngine(after)
    one.feed({0: first})
    moved = resharded(MANY, after, one.snapshot())
    assert moved.rows > 0
    other.restore(as_snapshot(moved))
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


HEAD = """
name: p
source: {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us},
  fields: {k: int}, disorder: {slack: 5 us}, control: all}
shards: 2
queries:
"""
QUERY = (
    "  {}: {{window: RANGE {} us SLIDE 10 us WATTR ts, group_by: [k], {}"
    "aggregates: {{n: count}}}}\n"
)
ALIKE = "".join(QUERY.format(f"q{number}", 10 * number, "") for number in (1, 2, 3))
THREE = parse_pipeline(HEAD + ALIKE)
JOINS = {
    "window": "RANGE 20 us SLIDE 10 us WATTR ts",
    "group_by": ["k"],
    "aggregates": {"n": "count"},
    "from": 40,
}


def log(at: int, change: dict[str, Any]) -> list[Entry]:
    """A lane with a record of each instant, and a change of the queries among them."""
    contents: list[dict[str, Any]] = [{"value": {"ts": ts, "k": ts % 3}} for ts in range(100)]
    contents.insert(at, {"control": {"queries": change}})
    return lane_of(contents)


ENDS = "until: 1970-01-01T00:00:01Z, "
LATER = "from: 1970-01-01T00:00:00.000040Z, "
PARTLY = LATER + "warmup: emit, "
ODDLY = "from: 1970-01-01T00:00:00.000041Z, warmup: emit, "


@pytest.mark.parametrize(
    ("range_", "said", "shares"),
    [
        (10, ENDS, True),
        (10, LATER, True),
        (50, LATER, True),  # longer than any: its windows begin and end where others do
        (10, PARTLY, True),
        (10, ODDLY, False),  # its first window begins within a slice
        (15, LATER, False),  # its windows begin within slices
        (15, ENDS, True),  # it was there from the beginning, and has slices cut
    ],
)
def test_who_shares_among_those_that_join_or_leave(range_: int, said: str, *, shares: bool) -> None:
    pipeline = parse_pipeline(HEAD + ALIKE + QUERY.format("a", range_, said))
    [family] = plan_of(pipeline).families
    assert sorted(family.names) == ["a"] * shares + ["q1", "q2", "q3"]
    assert family.name == ("shared:a" if said == ENDS else "shared:q1")


def test_other_aggregates_do_not_join() -> None:
    more = QUERY.format("a", 10, LATER).replace("n: count", "n: count, most: max(k)")
    [family] = plan_of(parse_pipeline(HEAD + ALIKE + more)).families
    assert "a" not in family.names


def test_those_that_join_found_no_family() -> None:
    later = "".join(QUERY.format(f"q{number}", 10 * number, LATER) for number in (1, 2, 3))
    assert not plan_of(parse_pipeline(HEAD + later)).families
    one = QUERY.format("a", 10, "")
    assert not plan_of(parse_pipeline(HEAD + one + later)).families


@pytest.mark.parametrize("rows", [7, 60])
def test_a_query_joins_queries_that_share(rows: int) -> None:
    events = log(30, {"add": {"new": JOINS}})
    engine = LocalEngine(THREE)
    for batch in batches(events, rows, THREE):
        engine.feed(batch)
    after = effective(THREE, events)
    assert engine.pipeline.fingerprint == after.fingerprint
    assert sorted(engine.plan.families[0].names) == ["new", "q1", "q2", "q3"]
    assert [*row_lines(engine.output.rows)] == [*row_lines(evaluate(after, events).rows)]
    assert {row.window_start_us for row in engine.output.rows if row.query == "new"} >= {40, 50}


@pytest.mark.parametrize("rows", [7, 60])
def test_a_query_that_shares_leaves(rows: int) -> None:
    events = log(30, {"remove": {"q2": 80}})
    engine = LocalEngine(THREE)
    for batch in batches(events, rows, THREE):
        engine.feed(batch)
    assert [family.name for family in engine.plan.families] == ["shared:q1"]
    after = effective(THREE, events)
    assert [*row_lines(engine.output.rows)] == [*row_lines(evaluate(after, events).rows)]
    ends = {row.query: row.window_end_us for row in engine.output.rows}
    assert ends == {"q1": 90, "q2": 80, "q3": 90}


SOON = "until: 1970-01-01T00:00:00.000050Z, "
THEN = "until: 1970-01-01T00:00:00.000070Z, "


def ending(said: str) -> str:
    """The queries, of which the second one ends."""
    return ALIKE.replace(QUERY.format("q2", 20, ""), QUERY.format("q2", 20, said))


def goes_on(after: Pipeline) -> list[str]:
    """The rows of a run that is stopped after 40 records, and continues with another file."""
    [first, *rest] = batches(log(100, {})[:-1], 40, THREE)
    before, engine = LocalEngine(THREE), LocalEngine(after)
    before.feed(first)
    engine.restore(as_snapshot(resharded(THREE, after, before.snapshot())))
    engine.output = before.output
    for batch in rest:
        engine.feed(batch)
    return [*row_lines(engine.output.rows)]


@pytest.mark.parametrize(
    ("text", "sharing"),
    [(ending(THEN), 3), (ALIKE + QUERY.format("a", 50, LATER), 4)],
    ids=["ends", "joins"],
)
def test_a_stopped_run_takes_changes_from_its_file(text: str, sharing: int) -> None:
    after = parse_pipeline(HEAD + text)
    assert len(plan_of(after).families[0].names) == sharing
    assert goes_on(after) == [*row_lines(evaluate(after, log(100, {})[:-1]).rows)]


def test_an_end_within_what_was_read_is_refused() -> None:
    with pytest.raises(
        CheckpointMismatch, match=r"q2 is to leave .* or later; nothing was changed"
    ):
        goes_on(parse_pipeline(HEAD + ending(SOON)))
