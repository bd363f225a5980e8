"""What `explain` says of queries with operators."""

import pytest

from tests.unit.model.test_operators import pipeline_of
from windowing.engine.plan import plan_of
from windowing.explain.operators import order_of_events
from windowing.explain.pipeline import explain
from windowing.model.operators.models import aggregate_windows
from windowing.model.windows.policy import Count, Delta, Time, WindowClause


def lines_of(query: str) -> list[str]:
    """The lines about a query, without those about its pipeline."""
    lines = list(explain(plan_of(pipeline_of(query))))
    return [line.strip() for line in lines[lines.index("") + 1 :]]


SORT = "{operator: sort, by: [n desc], window: '%s'%s}"
SAYS = [
    (SORT % ("TUMBLING count(2)", ""), "window: each 2 tuples"),
    (SORT % ("TUMBLING count(2)", ""), "sort by n descending: all tuples of a window"),
    (SORT % ("SLIDING count(2)", ""), "sort by n descending: progressively"),
    (SORT % ("TUMBLING time(90 s)", ""), "window: each 90 s of the clock"),
    (SORT % ("TUMBLING time(90 s)", ""), "on each tuple: insert; the clock flushes"),
    (
        SORT % ("TUMBLING delta(ts, 1 h)", ""),
        "window: the tuples whose ts is at most 1 h above that of the first",
    ),
    (SORT % ("SLIDING count(2)", ""), "key: none: rows are told apart by their number"),
    (
        SORT % ("SLIDING time(1 h) PARTITIONED BY carrier, n", ""),
        "window: the tuples of the last 1 h, reported at every tuple, for each carrier, n",
    ),
    (
        SORT % ("SLIDING time(1 h) PARTITIONED BY carrier", ""),
        "partitions: kept forever, as nothing evicts them: EVICT bounds their number",
    ),
    (
        SORT % ("TUMBLING time(1 h) PARTITIONED BY carrier", ""),
        "partitions: each is removed when it is flushed",
    ),
    (
        SORT % ("SLIDING count(2) PARTITIONED BY carrier EVICT partition_age(1 h)", ""),
        "partitions: evicted 1 h after their last tuple",
    ),
    (
        SORT % ("SLIDING count(2) PARTITIONED BY carrier EVICT tuple_count(9) BY oldest", ""),
        "partitions: at most 9 tuples in all of them: the oldest is evicted",
    ),
    (
        SORT % ("SLIDING count(2) PARTITIONED BY carrier EVICT tuple_count(9)", ""),
        "unit: the whole stream on one shard, because partition eviction looks at all partitions",
    ),
    (
        SORT % ("SLIDING count(2)", ""),
        "unit: the whole stream on one shard, because a window is not partitioned",
    ),
    (
        SORT % ("SLIDING count(2) PARTITIONED BY carrier", ""),
        "unit: each carrier by itself, on its shard",
    ),
    (
        SORT % ("SLIDING count(2) PARTITIONED BY carrier", ", order: lane"),
        "unit: each carrier of each lane by itself, on its shard",
    ),
    (
        SORT % ("SLIDING count(2)", ", order: lane"),
        "unit: the whole of each lane by itself, on its shard, because a window is not partitioned",
    ),
    (
        SORT % ("SLIDING count(2)", ", order: lane"),
        "late: no record is: each is processed when it is read",
    ),
    (SORT % ("SLIDING count(2)", ", order: lane"), "key: lane"),
    (
        SORT % ("SLIDING count(2)", ", late: {policy: drop}"),
        "late: records behind the progress of their lane: counted and dropped",
    ),
    (
        SORT % ("SLIDING count(2)", ", clock: wall"),
        "clock: the machine's, batch by batch: outside the promise: rows depend on the machine's "
        "clock, and verify leaves them out",
    ),
    (
        "{operator: aggregate, window: 'SLIDING count(9), delta(n, 5)', aggregates: {a: max(n)}, "
        "group_by: [origin], partial_windows: true}",
        "aggregate by origin: a, also before the window was first full",
    ),
    (
        "{operator: aggregate, window: 'SLIDING count(9), delta(n, 5)', aggregates: {a: max(n)}}",
        "window: the last 9 tuples, reported whenever n has grown by more than 5",
    ),
    (
        "{operator: 'python:m:C', window: 'TUMBLING punct()', outputs: {x: int, y: string}, "
        "punctuate: {when: carrier = 'AA'}}",
        "1. punctuate: after each tuple with carrier = 'AA'",
    ),
    (
        "{operator: 'python:m:C', window: 'TUMBLING punct()', outputs: {x: int, y: string}, "
        "punctuate: {when: carrier = 'AA'}}",
        "2. python:m:C: sends x, y",
    ),
    (
        "{operator: 'python:m:C', window: 'TUMBLING punct()', outputs: {x: int}, "
        "punctuate: {when: carrier = 'AA'}}",
        "punctuations: the source (free) -> punctuate (oblivious, generating) -> python:m:C "
        "(expecting, free)",
    ),
    (
        "{steps: [{operator: dedup, by: [n], window: SLIDING count(9) PARTITIONED BY carrier}, "
        "{operator: sort, by: [n], window: TUMBLING count(2) PARTITIONED BY origin}]}",
        "unit: the whole stream on one shard, because its windows are not partitioned by a common "
        "field",
    ),
]


@pytest.mark.parametrize(("query", "said"), SAYS)
def test_a_query_is_described(query: str, said: str) -> None:
    assert said in lines_of(query)


def test_every_window_has_its_order_of_events() -> None:
    """By the paper's tables: a report by delta leaves the arriving tuple out, one by count not."""
    orders = {
        (clause.kind, type(clause.eviction), type(clause.trigger)): order_of_events(clause)
        for clause in aggregate_windows()
    }
    assert len({*orders.values()}) == len(orders) == 13
    for eviction in (Count, Delta, Time):
        by_count, by_delta = (orders["sliding", eviction, trigger] for trigger in (Count, Delta))
        assert by_count.index("insert") < by_count.index("report")
        assert by_delta.index("report") < by_delta.index("insert")
    delta = order_of_events(WindowClause("tumbling", Delta("n", 1)))
    assert delta.index("flush") < delta.index("insert")
