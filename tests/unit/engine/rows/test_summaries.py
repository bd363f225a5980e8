"""Aggregates computed while tuples arrive equal those of stored tuples, bit for bit."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from windowing.engine.rows.operators import (
    Aggregate,
    Output,
    PortOutput,
    Punctuation,
    sliding,
    totals,
    tumbling,
)
from windowing.engine.rows.operators.functions import FUNCTIONS, Group
from windowing.engine.rows.operators.percentiles import OrderedWindow
from windowing.engine.rows.operators.summaries import (
    SUMMARIES,
    FunctionCall,
    GroupSummaries,
    summaries_of,
)
from windowing.engine.rows.policies import count, tuple_count
from windowing.engine.tuning import tuned, tuning
from windowing.model.windows.policy import WindowClause

# Many batches do not fit into a drawn list: the list is repeated.
_INTEGERS = st.integers(-(2**70), 2**70)
_FLOATS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e200, max_value=1e200)
_VALUES = st.one_of(
    st.lists(_INTEGERS, min_size=1, max_size=40),
    st.lists(_FLOATS, min_size=1, max_size=40),
    st.lists(_INTEGERS | _FLOATS | st.booleans(), min_size=1, max_size=40),
)


def called(names: Iterable[Any]) -> dict[str, FunctionCall]:
    arguments: dict[int, tuple[str, ...]] = {0: (), 1: ("v",), 2: ("v", "n")}
    return {name: (name, arguments[FUNCTIONS[name][0]]) for name in names}


def computed(
    rows: list[dict[str, Any]], functions: dict[str, FunctionCall]
) -> list[dict[str, Any]]:
    """What Aggregate sends for these tuples, from the tuples themselves."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["g"], []).append(row)
    sizes = [len(members) for members in groups.values()]
    return [
        {
            str(name): FUNCTIONS[str(name)][1](Group(members, sizes, len(rows)), arguments)
            for name, arguments in functions.values()
        }
        for members in groups.values()
    ]


def exact(found: object) -> str:
    """Text that differs if a type or a bit does."""
    return repr(found)


@given(_VALUES, st.integers(0, 40))
def test_totals_are_exact(values: list[Any], cut: int) -> None:
    total = totals.add(totals.add(None, values[:cut]), values[cut:]) if cut else None
    total = total or totals.add(None, values)
    expected = sum(map(Fraction, values), Fraction(0))
    if all(type(value) is int for value in values):
        assert totals.rounded(total) == expected
        assert totals.mean(total, len(values)) == math.trunc(expected / len(values))
    else:
        assert exact(totals.rounded(total)) == exact(float(expected))
        assert exact(totals.mean(total, len(values))) == exact(float(expected / len(values)))


@given(
    _VALUES,
    st.integers(1, 3),
    st.sampled_from([1, 7, 50]),
    st.booleans(),
    st.sampled_from([1, 2, 50]),
)
def test_a_summary_is_what_the_stored_tuples_give(
    values: list[Any], groups: int, times: int, stored: bool, folded: int
) -> None:
    """Also if its state is stored and restored between tuples."""
    functions = called(SUMMARIES)
    rows = [
        {"v": value, "n": number, "g": number % groups}
        for number, value in enumerate((values * times)[:150])
    ]
    with tuned(folded_tuples=folded):
        summary = GroupSummaries(summaries_of(functions) or (), ["g"])
        for number, row in enumerate(rows):
            summary.insert(row)
            if stored and number % 100 == 3:
                state = json.loads(json.dumps(summary.state()))
                summary = GroupSummaries(summaries_of(functions) or (), ["g"])
                summary.restore(state)
    assert exact([*summary.results()]) == exact(computed(rows, functions))


def test_sums_of_infinities() -> None:
    inf = math.inf
    for values, expected in (([1, inf, 2.5], inf), ([inf, -inf], math.nan), ([1.0, -inf], -inf)):
        total = None
        for value in values:
            total = totals.add(total, [value])
        assert total is not None
        assert exact(totals.rounded(total)) == exact(totals.mean(total, 3)) == exact(expected)


def test_sums_of_strings_and_lists_and_extremes_of_lists() -> None:
    functions: dict[str, FunctionCall] = {name: (name, ("v",)) for name in ("Sum", "Min", "Max")}
    for values in (["a", "b", "c"], [[1, 5], [3, 2], [2, 2]]):
        rows = [{"v": value, "g": 0} for value in values]
        summary = GroupSummaries(summaries_of(functions) or (), ["g"])
        for row in rows:
            summary.insert(row)
            summary.state()  # folds what waits
        assert [*summary.results()] == computed(rows, functions)


_VALUE = st.integers(-5, 5) | st.floats(-5, 5) | st.just(float("nan"))


@given(
    st.lists(st.tuples(st.integers(0, 2), _VALUE), max_size=120),
    st.sampled_from([count(1), count(4), count(30)]),
    st.sampled_from([count(1), count(7)]),
    st.booleans(),
    st.integers(0, 130),
)
def test_ordered_columns_give_the_percentile_of_the_stored_tuples(
    values: list[tuple[int, Any]], eviction: Any, trigger: Any, keyed: bool, restored_at: int
) -> None:
    """Beside an operator that also asks for a function which needs the tuples."""
    window: WindowClause = sliding(
        eviction,
        trigger,
        partition_by=("k",) if keyed else (),
        partition_eviction=tuple_count(20) if keyed else None,
    )
    outputs = {"p": Output("Percentile", ("v", "37.5")), "n": Output("Count")}
    ordered: list[PortOutput] = []
    scanning: list[PortOutput] = []
    operators = [
        Aggregate(window, outputs, ordered.append, partial_windows=True),
        Aggregate(
            window,
            outputs | {"last": Output("Last", ("v",))},
            scanning.append,
            partial_windows=True,
        ),
    ]
    for number, (key, value) in enumerate(values):
        if number == restored_at:
            state = operators[0].snapshot()
            operators[0] = Aggregate(window, outputs, ordered.append, partial_windows=True)
            operators[0].restore(state, timers=True)
        for operator in operators:
            operator.insert({"k": key, "v": value})
    expected = [
        one.item if isinstance(one.item, Punctuation) else {n: one.item[n] for n in ("p", "n")}
        for one in scanning
    ]
    assert exact([one.item for one in ordered]) == exact(expected)


def test_which_functions_need_no_more_than_ordered_values() -> None:
    assert OrderedWindow.computes({"a": ("Percentile", ("v", "50")), "n": ("Count", ())})
    assert not OrderedWindow.computes({"n": ("Count", ())})
    assert not OrderedWindow.computes({"a": ("Percentile", ("v", "50")), "n": ("Max", ("v",))})


def test_the_tuples_of_a_summarized_window_are_not_stored() -> None:
    operator = Aggregate(
        tumbling(count(10 * tuning().folded_tuples)), {"a": Output("Average", ("v",))}, print
    )
    for number in range(9 * tuning().folded_tuples):
        operator.insert({"v": number})
    assert len(json.dumps(operator.snapshot())) < 500
