"""Queries of operators on the local engine: rows and state are functions of the log."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from itertools import product
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sampling import sampled
from tests.strategies import Case, Event, entry
from tests.unit.engine.test_engine import defined
from windowing.engine.reading.batches import batches
from windowing.engine.storage.state import MemoryStore
from windowing.model import Pipeline, parse_pipeline
from windowing.model.operators.query import OperatorQuery
from windowing.model.rows import row_lines
from windowing.runtime.local import LocalEngine, run

_HEAD: Final = """
name: p
source:
  topic: s
  partitions: 2
  format: json
  event_time: {field: ts, unit: us}
  fields: {k: string, v: int, g: "string?", x: "float?"}
  disorder: {slack: 5 us}
late: {policy: dead_letter}
shards: 3
queries:
"""

_AGGREGATE: Final = "aggregates: {n: count, mean: mean(x), top: max(v), all: collect(v)}"
_MERGED: Final = "aggregates: {n: count, mean: mean(x), sd: stddev(v), top: max(v), g: first(g)}"
_SPREAD: Final = '"python:tests.unit.engine.rows.user_operators:Spread"'
_OF_USER: Final = f"operator: {_SPREAD}, outputs: {{why: string, spread: int}}"

STEPS: Final = {
    "tumbling count": f"operator: aggregate, window: TUMBLING count(3), {_AGGREGATE}",
    "tumbling count by": f"operator: aggregate, window: TUMBLING count(3) PARTITIONED BY k, "
    f"group_by: [g], {_AGGREGATE}",
    "tumbling delta": f"operator: aggregate, window: 'TUMBLING delta(ts, 6 us)', {_AGGREGATE}",
    "tumbling time": f"operator: aggregate, window: TUMBLING time(7 us), {_AGGREGATE}",
    "tumbling time by": f"operator: aggregate, window: TUMBLING time(7 us) PARTITIONED BY k, "
    f"{_AGGREGATE}",
    "tumbling punct": f"operator: aggregate, window: TUMBLING punct(), punctuate: {{when: v = 3}}, "
    f"{_AGGREGATE}",
    "counts": f"operator: aggregate, window: 'SLIDING count(4), count(2) PARTITIONED BY k', "
    f"{_AGGREGATE}, partial_windows: true",
    "count and delta": f"operator: aggregate, window: 'SLIDING count(4), delta(ts, 3 us)', "
    f"{_AGGREGATE}",
    "count and time": f"operator: aggregate, window: 'SLIDING count(4), time(6 us)', {_AGGREGATE}",
    "delta and count": f"operator: aggregate, window: 'SLIDING delta(v, 2), count(2)', "
    f"{_AGGREGATE}",
    "times": f"operator: aggregate, window: 'SLIDING time(9 us), time(6 us) PARTITIONED BY k', "
    f"{_AGGREGATE}",
    "panes": f"operator: aggregate, window: 'SLIDING time(12 us), time(3 us)', {_MERGED}",
    "panes by": f"operator: aggregate, window: 'SLIDING time(8 us), time(4 us) PARTITIONED BY k, "
    f"g', {_MERGED}",
    "panes of groups": f"operator: aggregate, window: 'SLIDING time(6 us), time(6 us) PARTITIONED "
    f"BY k', group_by: [g, k], partial_windows: true, {_MERGED}",
    "partition count": f"operator: aggregate, window: 'TUMBLING count(4) PARTITIONED BY k EVICT "
    f"partition_count(2) BY lfu', evicted_partitions: true, {_AGGREGATE}",
    "tuple count": f"operator: aggregate, window: 'SLIDING time(9 us), count(1) PARTITIONED BY k "
    f"EVICT tuple_count(4)', {_AGGREGATE}",
    "partition age": f"operator: aggregate, window: 'SLIDING count(3), time(4 us) PARTITIONED BY k "
    f"EVICT partition_age(6 us)', partial_windows: true, {_AGGREGATE}",
    "batch sort": "operator: sort, window: TUMBLING count(4), by: [v desc, g]",
    "sort": "operator: sort, window: 'SLIDING count(3), count(1) PARTITIONED BY k', by: [v, x]",
    "sort by time": "operator: sort, window: 'SLIDING time(5 us), count(1) PARTITIONED BY k EVICT "
    "partition_count(2)', by: [v]",
    "dedup": "operator: dedup, window: 'SLIDING time(9 us), count(1)', by: [k, g]",
    "user": f"{_OF_USER}, window: TUMBLING count(3) PARTITIONED BY k, settings: {{unit: m}}",
    "user evicts": f"{_OF_USER}, window: 'TUMBLING count(5) PARTITIONED BY k EVICT "
    "partition_age(6 us)'",
    "chain": "steps: [{operator: dedup, window: 'SLIDING count(3), count(1) PARTITIONED BY k', "
    "by: [v]}, {operator: sort, window: 'TUMBLING time(6 us) PARTITIONED BY k', by: [x]}, "
    f"{{operator: aggregate, window: TUMBLING punct() PARTITIONED BY k, {_AGGREGATE}}}]",
}


def pipeline(step: str, order: str) -> Pipeline:
    return parse_pipeline(f"{_HEAD}  q: {{{step}, order: {order}}}\n")


def all_steps(order: str) -> Pipeline:
    """A pipeline with a query for each of the steps."""
    queries = (
        f"  {name.replace(' ', '_')}: {{{step}, order: {order}}}" for name, step in STEPS.items()
    )
    return parse_pipeline(_HEAD + "\n".join(queries))


def drawn_log(seed: int, records: int) -> Case:
    """Two lanes whose records come up to eight microseconds out of order, with null fields."""
    rng, lanes = random.Random(seed), list[tuple[Event, ...]]()
    for partition in (0, 1):
        lane, now = list[Event](), rng.randrange(5)
        for offset in range(records // 2):
            place = {"source": "s", "partition": partition, "offset": offset}
            now += rng.randrange(5)
            if rng.random() < 0.05:
                lane.append({**place, "control": {"bound": now}})
                continue
            value: dict[str, Any] = {"ts": max(0, now - rng.choice((0, 0, 2, 5, 8)))}
            value |= {"k": rng.choice("abc"), "v": rng.randrange(6)}
            value |= {name: made for name, made in _optional(rng) if rng.random() < 0.8}
            lane.append({**place, "value": value})
        if rng.random() < 0.8:
            end = {"source": "s", "partition": partition, "offset": len(lane)}
            lane.append({**end, "control": {"end": True}})
        lanes.append(tuple(lane))
    return Case("", tuple(lanes))


def _optional(rng: random.Random) -> Iterable[tuple[str, Any]]:
    return [("g", rng.choice("xy")), ("x", rng.randrange(100) / 8)]


def interleaved(case: Case, rng: random.Random) -> list[Event]:
    waiting = [list(reversed(lane)) for lane in case.lanes]
    events = list[Event]()
    while any(waiting):
        events.append(rng.choice([lane for lane in waiting if lane]).pop())
    return events


def states(engine: LocalEngine) -> list[dict[str, Any]]:
    """What each shard holds, by query and table, as values."""
    shards = list[dict[str, Any]]()
    for stored in engine.snapshot().shards:
        store = MemoryStore()
        store.restore(stored)
        held = engine.shard.canonical_state(store)
        shards.append({query: {n: t.rows() for n, t in own.items()} for query, own in held.items()})
    return shards


def fed(spec: Pipeline, log: list[Event], rng: random.Random, *, restarts: bool) -> LocalEngine:
    """Run a log in batches of any size; after each, another engine may take over."""
    engine = LocalEngine(spec)
    while log:
        size = rng.randrange(1, 9)
        (batch,) = batches([entry(event) for event in log[:size]], size, spec)
        log = log[size:]
        engine.feed(batch)
        if restarts:
            other = LocalEngine(spec)
            other.restore(engine.snapshot())
            other.output, engine = engine.output, other
    return engine


# Of each of the 48 queries.
_FEW: Final = max(settings.default.max_examples // 10, 1) if settings.default else 1


@pytest.mark.parametrize(("name", "order"), sampled(product(STEPS, ["canonical", "lane"]), every=5))
@settings(max_examples=_FEW)
@given(seed=st.integers(0, 2**32))
def test_neither_cuts_nor_interleavings_nor_restarts_change_rows_or_state(
    name: str, order: str, seed: int
) -> None:
    spec, case, rng = pipeline(STEPS[name], order), drawn_log(seed, 30), random.Random(seed)
    expected = sorted(defined(spec, case))
    log = interleaved(case, rng)
    once, cut = LocalEngine(spec), fed(spec, log, rng, restarts=False)
    for batch in batches(map(entry, log), len(log), spec):
        once.feed(batch)
    other = fed(spec, interleaved(case, rng), rng, restarts=True)
    for engine in (once, cut, other):
        assert sorted(row_lines(engine.output.rows)) == expected_rows(expected)
        assert states(engine) == states(once)


def expected_rows(lines: list[str]) -> list[str]:
    return [line for line in lines if "window_id" in line]


@pytest.mark.parametrize("order", ["canonical", "lane"])
def test_every_step_sends_rows(order: str) -> None:
    """The property above would hold for an engine that sends nothing."""
    spec, log = all_steps(order), interleaved(drawn_log(7, 80), random.Random(7))
    rows = run(spec, batches(map(entry, log), 20)).rows
    assert {row.query for row in rows} == {query.name for query in spec.of(OperatorQuery)}


# --- by hand ------------------------------------------------------------------------------------


def values(
    step: str, lanes: list[list[dict[str, Any]]], order: str = "canonical"
) -> list[tuple[Any, ...]]:
    """Number, key and values of the rows of a log; what has no time is a control record."""
    log = list[Event]()
    for partition, lane in enumerate(lanes):
        for offset, what in enumerate(lane):
            place = {"source": "s", "partition": partition, "offset": offset}
            content = {"value": {"k": "a", "v": 0, **what}} if "ts" in what else {"control": what}
            log.append({**place, **content})
    output = run(pipeline(step, order), batches(map(entry, log), 3))
    return sorted((row.window_id, *row.key, *row.values.values()) for row in output.rows)


def at(*times: int, **fields: Any) -> list[dict[str, Any]]:
    return [{"ts": ts, **fields} for ts in times]


END: Final = {"end": True}
COUNTED: Final = "aggregates: {n: count, first: min(v), last: max(v)}"


def test_canonical_order_merges_lanes_and_lane_order_does_not() -> None:
    step = f"operator: aggregate, window: TUMBLING count(2), {COUNTED}"
    lanes = [[*at(1, v=1), *at(3, v=3), END], [*at(2, v=2), *at(4, v=4), END]]
    assert values(step, lanes) == [(0, 2, 1, 2), (1, 2, 3, 4)]
    assert values(step, lanes, "lane") == [(0, "s/0", 2, 1, 3), (0, "s/1", 2, 2, 4)]


def test_time_triggers_fire_at_whole_multiples_until_the_furthest_progress() -> None:
    step = (
        "operator: aggregate, window: 'SLIDING count(9), time(10 us)', partial_windows: true, "
        "aggregates: {n: count}"
    )
    # A bound is progress; the end is none, and leaves the clock where progress was the furthest.
    bound = {"bound": 35}
    assert values(step, [[END], [*at(3), bound, END]]) == [(0, 1), (1, 1), (2, 1)]
    assert values(step, [[bound, END], [*at(3, 12), END]]) == [(0, 1), (1, 2), (2, 2)]


def test_the_end_of_the_lanes_empties_a_progressive_sort_only() -> None:
    lanes = [[*at(1, v=9), *at(2, v=4), *at(3, v=6), END], [END]]
    sort = "operator: sort, window: 'SLIDING count(2), count(1)', by: [v]"
    assert [row[2] for row in values(sort, lanes)] == [4, 6, 9]
    batch = "operator: sort, window: TUMBLING count(2), by: [v]"
    assert [row[2] for row in values(batch, lanes)] == [4, 9]


def test_a_late_record_takes_no_part_and_lane_order_has_none() -> None:
    step = "operator: sort, window: TUMBLING count(1), by: [v]"
    lanes: list[list[dict[str, Any]]] = [[*at(20, 2, 15), END], [END]]
    spec = pipeline(step, "canonical")
    assert [row[0] for row in values(step, lanes)] == [0, 1]
    assert [row[0] for row in values(step, lanes, "lane")] == [0, 1, 2]
    late = {"source": "s", "partition": 0, "offset": 1, "value": {"ts": 2, "k": "a", "v": 0}}
    first = {**late, "offset": 0, "value": {"ts": 20, "k": "a", "v": 0}}
    output = run(spec, batches([entry(first), entry(late)], 1))
    (letter,) = output.dead_letters
    assert (letter.offset, letter.reason, output.counts["q"]["dead"]) == (1, "late", 1)


def test_the_machines_clock_is_followed_only_where_asked() -> None:
    step = f"operator: aggregate, window: TUMBLING time(10 us), {COUNTED}"
    found = list[list[int]]()
    for clock in ("record", "wall"):
        engine = LocalEngine(pipeline(f"{step}, clock: {clock}", "lane"))
        for offset, wall_us in enumerate((103, 104, 118)):
            place = {"source": "s", "partition": 0, "offset": offset}
            event = {**place, "value": {"ts": offset, "k": "a", "v": offset}}
            (batch,) = batches([entry(event)], 1)
            engine.feed(batch, wall_us)
        found.append([row.records for row in engine.output.rows])
    assert found == [[], [2]]


def test_the_event_time_can_be_sorted_by_under_its_name() -> None:
    step = "operator: sort, window: TUMBLING count(3), by: [ts desc]"
    rows = values(step, [[*at(1, v=1), *at(2, v=2), *at(3, v=3), END], [END]])
    assert [row[2] for row in rows] == [3, 2, 1]


def test_state_is_json_and_arrow_with_each_record_once() -> None:
    step = f"operator: aggregate, window: 'SLIDING count(4), count(1)', {COUNTED}"
    engine = LocalEngine(pipeline(step, "lane"))
    log = [
        {"source": "s", "partition": 0, "offset": n, "value": {"ts": n, "k": "a", "v": n}}
        for n in range(9)
    ]
    for batch in batches(map(entry, log), 2):
        engine.feed(batch)
    (held,) = [state["q"] for state in states(engine) if state]
    assert [row[1] for row in held["held"]] == [5, 6, 7, 8]
    (unit,) = held["units"]
    references = json.dumps(json.loads(unit[1])).count('"record"')
    assert references == 4
