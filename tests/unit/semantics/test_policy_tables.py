"""What policy windows show, worked out by hand from Tables I and II of the paper, and Figure 2.

A history is spelled as `a:1 2 @10 |`: the tuple 1 of partition a, the tuple 2, time advances to 10,
a window punctuation. Tuples are numbered from 1: `+1` is stored, `-1` leaves; `F[1 2]` is a flush,
`T[1 2]` a report, `full[1 2]` the first full window, `gone(a)` a partition eviction, and `none` a
punctuation of an empty window.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from windowing.model.operators.language import parse_clause
from windowing.semantics.windows.history import Advance, Insert, Mark, Observation, Operation
from windowing.semantics.windows.policies import evaluate

_NAMES: Final = {"flush": "F", "trigger": "T", "initialFull": "full"}


def operation(word: str) -> Operation:
    if word == "|":
        return Mark()
    if word.startswith("@"):
        return Advance(int(word[1:]))
    key, _, value = word.rpartition(":")
    return Insert({"k": key, "v": int(value)})


def spelled(one: Observation) -> str:
    tuples = " ".join(map(str, one.tuples))
    match one.kind:
        case "insert":
            return f"+{tuples}"
        case "evict":
            return f"-{tuples}"
        case "emptyWindowPunct":
            return "none"
        case "partitionEviction":
            return f"gone({' '.join(key for (key,) in one.key)})"
    return f"{_NAMES[one.kind]}[{tuples}]"


def shown(window: str, history: str, **options: Any) -> str:
    operations = [operation(word) for word in history.split()]
    found = evaluate(parse_clause(window, "ts"), operations, **options)
    return " ".join(spelled(one) for one in found if one.kind != "victim")


@pytest.mark.parametrize(
    ("window", "history", "expected"),
    [
        ("count(2)", "1 2 3", "+1 +2 F[1 2] +3"),
        ("count(0)", "1 2", ""),
        ("delta(v, 1)", "1 2 3", "+1 +2 F[1 2] +3"),
        # The first stored tuple is the reference, not the last one.
        ("delta(v, 1)", "1 2 1 3 4 5", "+1 +2 +3 F[1 2 3] +4 +5 F[4 5] +6"),
        ("time(10 us)", "1 @10 2 @30", "+1 F[1] +2 F[2] F[]"),
        # What is due at an instant precedes the tuples of that instant.
        ("time(10 us)", "@9 1 @10 2 @20", "+1 F[1] +2 F[2]"),
        ("punct()", "| 1 2 | 3 | |", "none +1 +2 F[1 2] +3 F[3] none"),
    ],
)
def test_table_i(window: str, history: str, expected: str) -> None:
    assert shown(f"TUMBLING {window}", history) == expected


@pytest.mark.parametrize(
    ("window", "history", "expected"),
    [
        ("count(2), count(2)", "1 2 3 4", "+1 +2 full[1 2] T[1 2] -1 +3 -2 +4 T[3 4]"),
        ("count(2), delta(v, 1)", "1 2 3 5", "+1 +2 full[1 2] T[1 2] -1 +3 T[2 3] -2 +4"),
        ("count(2), time(10 us)", "1 2 @10 3 @25", "+1 +2 full[1 2] T[1 2] -1 +3 T[2 3]"),
        ("delta(v, 1), count(2)", "1 2 3 5", "+1 +2 T[1 2] full[1 2] -1 +3 -2 -3 +4 T[4]"),
        ("delta(v, 1), delta(v, 1)", "1 2 3 5", "+1 +2 full[1 2] T[1 2] -1 +3 T[2 3] -2 -3 +4"),
        ("delta(v, 1), time(10 us)", "1 2 @10 3 @20", "+1 +2 T[1 2] full[1 2] -1 +3 T[2 3]"),
        ("time(10 us), count(2)", "1 @4 2 @15 3", "+1 +2 T[1 2] full[1 2] -1 -2 +3"),
        ("time(10 us), delta(v, 1)", "1 @4 3 @12 5", "+1 T[1] +2 full[1 2] -1 T[2] +3"),
        # A report at 10 precedes the eviction just after 10.
        ("time(10 us), time(5 us)", "1 @4 2 @15", "+1 +2 T[1 2] T[1 2] full[1 2] -1 -2 T[]"),
    ],
)
def test_table_ii(window: str, history: str, expected: str) -> None:
    assert shown(f"SLIDING {window}", history) == expected


def test_figure_2_the_windows_of_counts_and_of_deltas_are_the_same() -> None:
    by_count = shown("SLIDING count(2), count(1)", "1 2 3 4")
    by_delta = shown("SLIDING delta(v, 1), delta(v, 0)", "1 2 3 4")
    assert by_count == "+1 T[1] +2 full[1 2] T[1 2] -1 +3 T[2 3] -2 +4 T[3 4]"
    assert by_delta == "+1 T[1] +2 full[1 2] T[1 2] -1 +3 T[2 3] -2 +4"


@pytest.mark.parametrize(
    ("window", "history", "expected"),
    [
        ("count(0), count(1)", "1 2", "T[] T[]"),
        ("count(2), count(0)", "1 2 3", "+1 +2 full[1 2] -1 +3"),
        # An equal difference does not cross; a survivor may stand before what leaves.
        ("delta(v, 2), count(0)", "1 5 2 4 5", "+1 full[1] -1 +2 +3 +4 -3 +5"),
        # The reference of a delta trigger outlives its tuple, the counter an empty window.
        ("count(1), delta(v, 2)", "1 2 3 4", "+1 full[1] -1 +2 -2 +3 T[3] -3 +4"),
        ("time(10 us), count(2)", "1 @20 2", "+1 full[1] -1 +2 T[2]"),
    ],
)
def test_edges_of_sliding_windows(window: str, history: str, expected: str) -> None:
    assert shown(f"SLIDING {window}", history) == expected


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ("@3 a:1 @7 b:2 @20", "+1 +2 F[1] F[2]"),
        # A tuple within a period after a flush joins the clock that runs: 13, then 23.
        ("@3 a:1 @20 a:2 @22", "+1 F[1] +2"),
        ("@3 a:1 @20 a:2 @23", "+1 F[1] +2 F[2]"),
        # An empty period stops it: the next tuple starts a new one, 40 to 50.
        ("@3 a:1 @40 a:2 @49", "+1 F[1] +2"),
        ("@3 a:1 @40 a:2 @50", "+1 F[1] +2 F[2]"),
    ],
)
def test_each_partition_of_a_tumbling_window_has_a_clock(history: str, expected: str) -> None:
    assert shown("TUMBLING time(10 us) PARTITIONED BY k", history) == expected


@pytest.mark.parametrize(
    ("eviction", "history", "expected"),
    [
        ("partition_count(1)", "a:1 b:2 a:3", "+1 T[1] +2 gone(a) T[2] +3 gone(b) T[3]"),
        ("tuple_count(2)", "a:1 a:2 b:3", "+1 T[1] +2 T[1 2] +3 gone(a) T[3]"),
        # Age is judged before the insert, and an equal one is not too old.
        ("partition_age(5 us)", "a:1 @5 b:2 @6 b:3", "+1 T[1] +2 T[2] gone(a) +3 T[2 3]"),
    ],
)
def test_partition_eviction(eviction: str, history: str, expected: str) -> None:
    window = f"SLIDING count(5), count(1) PARTITIONED BY k EVICT {eviction}"
    assert shown(window, history) == expected


@pytest.mark.parametrize(
    ("selection", "history", "victim"),
    [
        ("lru", "a:1 b:2 a:3 c:4", "b"),
        ("oldest", "a:1 @1 b:2 @2 a:3 c:4", "a"),
        ("lfu", "a:1 a:2 b:3 c:4", "b"),
        # Of equals the least recently updated.
        ("lfu", "a:1 b:2 c:3", "a"),
    ],
)
def test_selection_of_partitions(selection: str, history: str, victim: str) -> None:
    window = f"SLIDING count(5), count(0) PARTITIONED BY k EVICT partition_count(2) BY {selection}"
    assert shown(window, history).endswith(f" gone({victim})")


def test_a_partition_that_returns_starts_anew() -> None:
    window = "SLIDING count(2), count(2) PARTITIONED BY k EVICT partition_count(1)"
    history = "a:1 b:2 a:3 a:4"
    assert shown(window, history) == "+1 +2 gone(a) +3 gone(b) +4 full[3 4] T[3 4]"


def test_timers_fire_at_whole_multiples_of_their_period() -> None:
    flushed = shown("TUMBLING time(10 us)", "1 @-3 2 @0 3 @20", began_us=-7)
    assert flushed == "+1 +2 F[1 2] +3 F[3] F[]"
    reported = shown("SLIDING count(2), time(10 us)", "1 @0 2 @9", began_us=-7)
    assert reported == "+1 T[1] +2 full[1 2]"


def test_an_empty_window_may_be_passed_over_whatever_the_distance() -> None:
    window, history = "SLIDING time(10 us), time(5 us)", f"1 @{10**15} 2"
    assert shown(window, history, empty=False) == "+1 T[1] T[1] full[1] -1 +2"
    assert shown("TUMBLING time(5 us)", history, empty=False) == "+1 F[1] +2"
