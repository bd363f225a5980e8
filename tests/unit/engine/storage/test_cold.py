"""Where the horizon lies, by how far a step of progress goes; what must be read beyond it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.strategies import Entry, lane_of
from windowing.engine.reading.batches import batches
from windowing.engine.storage.cold import Move, _horizon
from windowing.engine.tuning import tuned
from windowing.engine.wids import ENDED, NOTHING_YET
from windowing.model import parse_pipeline
from windowing.model.rows import row_lines
from windowing.runtime.local import LocalEngine
from windowing.semantics import evaluate

EVERY_10 = np.arange(10_000) * 10 + 1_000


@pytest.fixture(autouse=True)
def _any_state_is_large() -> Iterator[None]:
    with tuned(cold_from_rows=1):
        yield


@pytest.mark.parametrize(
    ("moved", "instants"),
    [
        (Move(990, 999), 100),  # a step passes less than one
        (Move(980, 990), 100),
        (Move(0, 999), 1_000),  # 100 of them
        (Move(NOTHING_YET, 999), 100),  # the first step
        (Move(999, 999), 100),
    ],
)
def test_it_lies_as_many_steps_ahead_as_cost_least(moved: Move, instants: int) -> None:
    assert _horizon(EVERY_10, moved) == EVERY_10[instants]


def test_nothing_is_divided_that_the_next_step_passes() -> None:
    assert _horizon(EVERY_10[:3], Move(0, 999)) is None


@pytest.mark.parametrize("after_us", [ENDED - 1, ENDED])
def test_the_end_of_progress_is_no_step(after_us: int) -> None:
    assert _horizon(EVERY_10, Move(0, after_us)) == EVERY_10[100]


def test_steps_that_pass_a_quarter_leave_it_whole() -> None:
    assert _horizon(EVERY_10, Move(999 - 25_000, 999)) is None
    assert _horizon(EVERY_10, Move(999 - 24_000, 999)) is not None


def test_a_small_state_is_not_divided() -> None:
    with tuned(cold_from_rows=len(EVERY_10) + 1):
        assert _horizon(EVERY_10, Move(990, 999)) is None
    with tuned(cold_from_rows=len(EVERY_10)):
        assert _horizon(EVERY_10, Move(990, 999)) is not None


# --- a session of which a part is cold -----------------------------------------------------------

PIPELINE = """
name: p
source: {topic: s, partitions: 2, format: json, event_time: {field: ts, unit: us},
  fields: {k: string}, disorder: ordered}
late: {policy: drop}
shards: 1
queries:
  q: {window: SESSION 100 us WATTR ts, group_by: [k], aggregates: {n: count}}
  due: {window: RANGE 5 us SLIDE 5 us WATTR ts, aggregates: {n: count}}
"""


def lane(number: int, records: list[tuple[int, str]]) -> list[Entry]:
    values = [{"value": {"ts": ts, "k": k}} for ts, k in records]
    return lane_of([*values, {"control": {"end": True}}], number)


# The session of k is [0, 190): its record at 90 is cold, and without it, it would end at 100.
LANES = (
    lane(0, [(0, "k"), (20, "a"), (30, "b"), (40, "c"), (50, "d"), (150, "f")]),
    lane(1, [(90, "k"), (110, "e"), *((115, f"g{n}") for n in range(200))]),
)


@pytest.mark.parametrize("cuts", [[(5, 2), (1, 0), (0, 200)], [(1, 2), (5, 0), (0, 200)]])
@pytest.mark.parametrize("compact_after", [0, 1, 8])
def test_a_session_keeps_its_beginning_whenever_state_is_made_new(
    compact_after: int, cuts: list[tuple[int, int]]
) -> None:
    """After progress 110, no session is due up to 120; at 115, the other query is."""
    pipeline = parse_pipeline(PIPELINE)
    engine, rest = LocalEngine(pipeline), [[*own] for own in LANES]
    with tuned(compact_after_deltas=compact_after):
        for cut in [*cuts, tuple(map(len, rest))]:
            taken = [own[:number] for own, number in zip(rest, cut, strict=True)]
            rest = [own[number:] for own, number in zip(rest, cut, strict=True)]
            for batch in batches([one for own in taken for one in own], 1000, pipeline):
                engine.feed(batch)
    defined = evaluate(pipeline, [one for own in LANES for one in own]).rows
    assert sorted(row_lines(engine.output.rows)) == sorted(row_lines(defined))
    # What was laid apart is not left in the store.
    assert not [key for shard in engine.snapshot().shards for key in shard if "far-" in key]
