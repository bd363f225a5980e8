"""Queries of operators, by ADR 22: rows worked out by hand, which engine and definition both give.

A record is spelled as `3a1`: at 3 us, g is a (`-`: null), v is 1. `end` ends a lane. A row is
spelled as the number of its report, its key and its values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence

import pytest

from tests.strategies import Entry
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline, parse_pipeline
from windowing.model.rows import Row, key_order
from windowing.runtime.local import LocalEngine
from windowing.semantics import evaluate
from windowing.semantics.trace import trace

Rows = Callable[[Pipeline, list[Entry]], Sequence[Row]]
Given = Callable[..., list[str]]
_RECORD = re.compile(r"(-?\d+)([a-z-])(-?\d+)")


def pipeline_of(query: str, lanes: int = 1) -> Pipeline:
    return parse_pipeline(
        f"""
name: by_hand
source:
  topic: t
  partitions: {lanes}
  format: json
  event_time: {{field: ts, unit: us}}
  fields: {{g: "string?", v: int}}
  disorder: {{slack: 0 us}}
late: {{policy: dead_letter}}
queries:
  q: {{{query}}}
"""
    )


def log_of(lanes: Iterable[str]) -> list[Entry]:
    log = []
    for partition, lane in enumerate(lanes):
        for offset, word in enumerate(lane.split()):
            record = _RECORD.fullmatch(word)
            value = control = None
            if record is None:
                control = json.dumps({word: True}).encode()
            else:
                at, key, number = record.groups()
                fields = {"ts": int(at), "g": None if key == "-" else key, "v": int(number)}
                value = json.dumps(fields).encode()
            log.append(Entry("t", partition, offset, value, control, None))
    return log


def defined(pipeline: Pipeline, log: list[Entry]) -> Sequence[Row]:
    return evaluate(pipeline, log).rows


def run(pipeline: Pipeline, log: list[Entry]) -> Sequence[Row]:
    engine = LocalEngine(pipeline)
    for batch in batches(log, 2):
        engine.feed(batch)
    return engine.output.rows


@pytest.fixture(params=[defined, run], ids=["definition", "engine"])
def given(request: pytest.FixtureRequest) -> Given:
    rows: Rows = request.param

    def given(query: str, *lanes: str) -> list[str]:
        """Return the rows that lanes give under a query, by the numbers of their reports."""
        found = list(rows(pipeline_of(query, len(lanes)), log_of(lanes)))
        found.sort(key=lambda row: (row.window_id, key_order(row.key)))
        return [
            " ".join(map(str, [row.window_id, *row.key, *row.values.values()])) for row in found
        ]

    return given


_SUM = "operator: aggregate, aggregates: {s: sum(v)}, window: "

# --- order -----------------------------------------------------------------------------------


def test_canonical_order_is_that_of_event_times_then_places(given: Given) -> None:
    query = f"{_SUM} TUMBLING count(2)"
    assert given(query, "1a1 4a8 end", "2a2 3a4 end") == ["0 3", "1 12"]
    assert given(query, "5a1 5a2 end", "5a4 5a8 end") == ["0 3", "1 12"]


def test_a_record_is_processed_once_progress_is_past_it(given: Given) -> None:
    query = f"{_SUM} TUMBLING count(1)"
    assert given(query, "1a1 2a2") == ["0 1"]
    assert given(query, "1a1 2a2 3a4") == ["0 1", "1 2"]
    assert given(query, "1a1 2a2 3a4", "1a8") == []


def test_a_record_that_its_lane_has_passed_is_late(given: Given) -> None:
    query, lanes = f"{_SUM} TUMBLING count(1)", ("5a1 3a2 end", "3a4 end")
    assert given(query, *lanes) == ["0 4", "1 1"]
    outcome = evaluate(pipeline_of(query, 2), log_of(lanes))
    assert [(one.partition, one.offset, one.reason) for one in outcome.dead] == [(0, 1, "late")]


def test_in_lane_order_each_lane_has_windows_and_nothing_is_late(given: Given) -> None:
    query = f"{_SUM} TUMBLING count(2), order: lane"
    assert given(query, "5a1 3a2", "9a4 1a8 4a16") == ["0 t/0 3", "0 t/1 12"]


# --- clock -----------------------------------------------------------------------------------


def test_a_timer_precedes_the_records_of_its_instant(given: Given) -> None:
    query = f"{_SUM} TUMBLING time(10 us)"
    assert given(query, "7a1 9a2 10a4 21a8") == ["0 3", "1 4"]
    assert given(query, "-7a1 -3a2 4a4 10a8") == ["0 3", "1 4"]


def test_a_partitions_clock_starts_at_its_first_record(given: Given) -> None:
    query = f"{_SUM} TUMBLING time(10 us) PARTITIONED BY g"
    assert given(query, "7a1 9b2 16a4 17a8 19b16 30a0") == ["0 a 5", "0 b 2", "1 a 8", "1 b 16"]


def test_progress_alone_fires_a_trigger(given: Given) -> None:
    # Reports at 10, 20 and 30; the window was full at the second record.
    query = f'{_SUM} "SLIDING count(2), time(10 us)"'
    assert given(query, "1a1 2a2 30b4") == ["0 3", "1 3", "2 3"]


def test_time_evicts_just_after_its_instant(given: Given) -> None:
    query = f'{_SUM} "SLIDING time(10 us), count(1)", partial_windows: true'
    assert given(query, "0a1 10a2 11a4 20a8 21a0") == ["0 1", "1 3", "2 6", "3 14"]


def test_at_the_end_the_clock_shows_the_furthest_progress(given: Given) -> None:
    query = f"{_SUM} TUMBLING time(10 us)"
    assert given(query, "7a1 12a2 end") == ["0 1"]
    assert given(query, "7a1 12a2 end", "25a4 end") == ["0 1", "1 2"]


def test_the_clock_of_a_lane_never_goes_back(given: Given) -> None:
    query = f"{_SUM} TUMBLING time(10 us), order: lane"
    assert given(query, "7a1 12a2 3a4 20a8 end") == ["0 t/0 1", "1 t/0 6"]


# --- units and rows --------------------------------------------------------------------------


def test_reports_are_numbered_within_their_unit(given: Given) -> None:
    log = "1a1 2b2 3a4 4b8 5a0"
    query = f"{_SUM} TUMBLING count(1) PARTITIONED BY g"
    assert given(query, log) == ["0 a 1", "0 b 2", "1 a 4", "1 b 8"]
    # Partition eviction looks at all partitions, which are one unit then.
    together = given(f"{query} EVICT partition_count(2)", log)
    assert together == ["0 a 1", "1 b 2", "2 a 4", "3 b 8"]


def test_a_report_has_one_row_per_group(given: Given) -> None:
    query = f"{_SUM} TUMBLING count(3), group_by: [g]"
    assert given(query, "1b1 2-2 3b4 4a8 5a16 6a32 7a0") == ["0 None 2", "0 b 5", "1 a 56"]


def test_a_row_spans_its_records() -> None:
    pipeline = pipeline_of(f"{_SUM} TUMBLING count(3)", 2)
    (row,) = defined(pipeline, log_of(["3a1 9a2 end", "4a4 end"]))
    assert (row.window_start_us, row.window_end_us, row.records) == (3, 10, 3)
    assert row.offsets == {"t/0": (0, 1), "t/1": (0, 0)}


def test_a_sliding_window_reports_once_it_was_full(given: Given) -> None:
    window = '"SLIDING count(2), count(1)"'
    assert given(f"{_SUM} {window}", "1a1 2a2 3a4 end") == ["0 3", "1 6"]
    partial = given(f"{_SUM} {window}, partial_windows: true", "1a1 2a2 3a4 end")
    assert partial == ["0 1", "1 3", "2 6"]


def test_evicted_partitions_are_reported_in_order(given: Given) -> None:
    window = "TUMBLING count(3) PARTITIONED BY g EVICT partition_count(1)"
    log = "1a1 2b2 3c4 end"
    assert given(f"{_SUM} {window}", log) == []
    assert given(f"{_SUM} {window}, evicted_partitions: true", log) == ["0 a 1", "1 b 2"]


# --- Sort and Dedup --------------------------------------------------------------------------


def test_sort_sends_a_batch_null_first(given: Given) -> None:
    query = 'operator: sort, by: [g, v desc], window: "TUMBLING count(4)"'
    assert given(query, "1b1 2a2 3a4 4-8 5a0 end") == ["0 None 8", "1 a 4", "2 a 2", "3 b 1"]


def test_a_progressive_sort_sends_the_smallest_for_each_that_leaves(given: Given) -> None:
    query = 'operator: sort, by: [v], window: "SLIDING count(2)"'
    # 2 drives out 3, and 1 is sent; 0 drives out 1, and 2 is; the end sends 0 and 3.
    assert given(query, "1a3 2a1 3a2 4a0 end") == ["0 a 1", "1 a 2", "2 a 0", "3 a 3"]
    assert given(query, "1a3 2a1 3a2 4a0 5a9") == ["0 a 1", "1 a 2"]


def test_sort_and_dedup_may_go_by_the_event_time(given: Given) -> None:
    sort = 'operator: sort, by: [ts desc], window: "TUMBLING count(3)"'
    assert given(sort, "1a1 2a2 3a4 end") == ["0 a 4", "1 a 2", "2 a 1"]
    dedup = 'operator: dedup, by: [ts], window: "SLIDING count(9)"'
    assert given(dedup, "1a1 1a2 3a4 end") == ["0 a 1", "1 a 4"]


def test_a_duplicate_renews_the_memory_of_the_first(given: Given) -> None:
    # The third a is compared with the second and b; the fourth with c and d.
    query = 'operator: dedup, by: [g], window: "SLIDING count(3)"'
    rows = given(query, "1a1 2a2 3b4 4a8 5c16 6d32 7a64 end")
    assert rows == ["0 a 1", "1 b 4", "2 c 16", "3 d 32", "4 a 64"]


# --- chains and punctuations -----------------------------------------------------------------


def test_a_punctuation_follows_each_record_that_fulfils_the_condition(given: Given) -> None:
    query = f'{_SUM} TUMBLING punct(), punctuate: {{when: "v = 0"}}'
    assert given(query, "1a1 2a2 3a0 4a0 5a4 end") == ["0 3", "1 0"]
    nulls = f"{_SUM} TUMBLING punct(), punctuate: {{when: \"g != 'a'\"}}"
    assert given(nulls, "1a1 2-2 3b4 4a8 end") == ["0 7"]


_SORTED = '{operator: sort, by: [v], window: "TUMBLING count(2)"}'


def test_what_an_operator_sends_is_the_input_of_the_next(given: Given) -> None:
    dedup = '{operator: dedup, by: [g], window: "SLIDING count(9)"}'
    query = f"steps: [{dedup}, {{{_SUM} TUMBLING count(2)}}]"
    assert given(query, "1a1 2a2 3b4 4c8 5a16 6d32 end") == ["0 5", "1 40"]


def test_a_batch_ends_with_a_punctuation(given: Given) -> None:
    query = f"steps: [{_SORTED}, {{{_SUM} TUMBLING punct()}}]"
    assert given(query, "1a1 2a2 3a4 4a8 5a0 end") == ["0 3", "1 12"]


def test_punctuate_forwards_no_punctuations(given: Given) -> None:
    last = f'{{{_SUM} TUMBLING punct(), punctuate: {{when: "v = 8"}}}}'
    assert given(f"steps: [{_SORTED}, {last}]", "1a2 2a1 3a8 4a4 5a0 end") == ["0 15"]


def test_the_end_empties_a_progressive_sort_before_what_follows_it(given: Given) -> None:
    sort = '{operator: sort, by: [v], window: "SLIDING count(9)"}'
    query = f"steps: [{sort}, {{{_SUM} TUMBLING count(2)}}]"
    assert given(query, "1a8 2a1 3a4 4a2 5a16 end") == ["0 3", "1 12"]
    assert given(query, "1a8 2a1 3a4 4a2 5a16") == []


# --- what is outside the promise, and what a trace says -----------------------------------------


def test_by_the_machines_clock_nothing_is_defined() -> None:
    query, lanes = f"{_SUM} TUMBLING count(1), clock: wall", ["1a1 2a2 end"]
    outcome = evaluate(pipeline_of(query), log_of(lanes))
    assert outcome.rows == []
    assert outcome.counts["q"]["applied"] == 2


def test_a_trace_tells_when_a_report_is_sent() -> None:
    query = f'{_SUM} "SLIDING count(2), time(10 us)"'
    lines = list(trace(pipeline_of(query), log_of(["1a1 3a2 2a4 30b8"])))
    found = [line["queries"]["q"] for line in lines]
    assert [one["outcome"] for one in found] == ["applied", "applied", "late", "waiting"]
    assert [one["number"] for one in found] == [0, 1, None, None]
    reports = [{"window": number, "key": []} for number in range(3)]
    assert found[0]["reports"] == found[1]["reports"] == reports
    assert [line.get("sent") for line in lines] == [None, None, None, {"q": reports}]
