"""Sessions, limits of state: hand-made logs; random ones are in `test_classes`."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import settings

from tests.strategies import entry
from tests.unit.engine.test_engine import agreed
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline, parse_pipeline
from windowing.model.rows import row_lines
from windowing.model.run_errors import StateFull
from windowing.runtime.local import Output, run

_FEW = max(settings.default.max_examples // 6, 3) if settings.default else 3
Event = dict[str, object]


def pipeline(query: str, more: str = "") -> Pipeline:
    return parse_pipeline(
        f"""
name: p
source: {{topic: s, partitions: 1, format: json, event_time: {{field: ts, unit: us}},
  fields: {{k: "string?", v: int}}, disorder: {{slack: 0 s}}}}
late: {{policy: update, every: 10 us}}
retention: 1 s
shards: 1
{more}
queries: {{q: {{group_by: [k], aggregates: {{n: count, vs: collect(v)}}, {query}}}}}
"""
    )


def log(times: Sequence[int], keys: str = "") -> list[Event]:
    """Records of one lane, by default of key a, and the end."""
    keys = keys or "a" * len(times)
    place = {"source": "s", "partition": 0}
    values = [{"ts": ts, "k": key, "v": ts} for ts, key in zip(times, keys, strict=True)]
    events: list[Event] = [{**place, "offset": n, "value": v} for n, v in enumerate(values)]
    return [*events, {**place, "offset": len(events), "control": {"end": True}}]


def output(spec: Pipeline, events: list[Event], rows: int = 3) -> Output:
    log = list(map(entry, events))
    found = run(spec, batches(log, rows))
    assert list(row_lines(found.rows)) == list(row_lines(agreed(spec, log)))
    return found


def summary(found: Output) -> list[tuple[object, ...]]:
    """Start, end, revision, records, and what marks the row."""
    ordered = [json.loads(line) for line in row_lines(found.rows)]
    names = ("window_start", "window_end", "revision", "records", "absorbed_by", "op")
    return [tuple(row[name] for name in names if name in row) for row in ordered]


# 0 and 5 are one session, 18 and 20 another, until 11 comes late (at 41) and is released at 50.
MERGING = [0, 5, 18, 20, 41, 11]


def test_a_late_record_merges_two_sessions() -> None:
    found = output(pipeline("window: SESSION 10 us WATTR ts"), log(MERGING))
    assert summary(found) == [
        *((0, 15, 0, 2), (0, 30, 1, 5)),
        *((18, 30, 0, 2), (18, 30, 1, 0, 0)),
        (41, 51, 0, 1),
    ]


def test_what_was_sent_is_taken_back() -> None:
    spec = pipeline("window: SESSION 10 us WATTR ts, accumulation: retracting")
    assert summary(output(spec, log(MERGING))) == [
        *((0, 15, 0, 2), (0, 15, 0, 2, "retract"), (0, 30, 1, 5)),
        *((18, 30, 0, 2), (18, 30, 0, 2, "retract"), (18, 30, 1, 0, 0)),
        (41, 51, 0, 1),
    ]


def test_only_what_is_new_is_shown() -> None:
    found = output(
        pipeline("window: SESSION 10 us WATTR ts, accumulation: discarding"), log(MERGING)
    )
    assert [row.values["vs"] for row in found.rows if row.revision == 1 and row.records] == [
        [11, 18, 20]
    ]


def test_exactly_the_gap_parts_two_sessions() -> None:
    found = output(pipeline("window: SESSION 10 us WATTR ts"), log([0, 10, 19]))
    assert summary(found) == [(0, 10, 0, 1), (10, 29, 0, 2)]


def test_some_keys_have_gaps_of_their_own() -> None:
    window = "window: {session: 10 us, wattr: ts, gaps: {b: 3 us}}"
    found = output(pipeline(window), log([0, 0, 4, 4], "abab"))
    spans = {(row.key[0], row.window_start_us, row.window_end_us) for row in found.rows}
    assert spans == {("a", 0, 14), ("b", 0, 3), ("b", 4, 7)}


def test_rows_of_other_keys_part_sessions() -> None:
    """Two b between the first a and the next part them, as one does not."""
    spec = pipeline("window: SESSION 2 rows WATTR row_num, late: {policy: drop}")
    found = output(spec, log([9, 8, 7, 6, 5, 4], "ababba"))
    spans = {(row.key[0], row.window_start_us, row.window_end_us) for row in found.rows}
    assert spans == {("a", 0, 5), ("a", 5, 8), ("b", 1, 7)}


def test_a_full_state_fails_the_batch_and_drops_nothing() -> None:
    window = "window: RANGE 10 us SLIDE 10 us WATTR ts"
    spec = pipeline(f"{window}, retention: {{time: 5 us, entries: 3}}")
    # Windows that no late record can reach any more make room.
    assert len(output(spec, log(range(0, 400, 10)), rows=1).rows) == 40
    with pytest.raises(StateFull, match="allows 3 entries"):
        run(spec, batches(map(entry, log([5] * 4, "abcd")[:-1]), 9))


def test_retention_may_count_windows() -> None:
    by_count = pipeline("window: RANGE 20 us SLIDE 10 us WATTR ts, retention: {windows: 3}")
    both = pipeline("window: RANGE 20 us SLIDE 10 us WATTR ts, retention: {windows: 3, time: 7 us}")
    assert (by_count.flows[0].retention_us, both.flows[0].retention_us) == (30, 7)
