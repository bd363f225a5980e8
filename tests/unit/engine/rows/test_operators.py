"""Aggregate, Join and Sort: the recorded scenarios, the models, and the paper's counts."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from conformance.cases import NotExpressible
from conformance.drivers.spl_models import MODELS, REASONS, judge_validation, refusal
from conformance.drivers.spl_operators import judge
from conformance.spl import OperatorCase, ValidationCase, read_lines
from windowing.engine.rows.operators import (
    Aggregate,
    Custom,
    Join,
    JoinKind,
    OperatorError,
    Output,
    PortOutput,
    Punctuation,
    Sort,
    sliding,
    tumbling,
)
from windowing.engine.rows.operators.functions import FUNCTIONS
from windowing.engine.rows.policies import ManualClock, Marker, Profile, count, delta, punct, time
from windowing.model.operators.models import aggregate_windows, join_windows, sort_windows

DATA = Path("tests/data/spl")


@pytest.mark.parametrize(
    "case", [*read_lines(DATA / "operators.jsonl", OperatorCase)], ids=lambda case: case.id
)
def test_recorded_scenarios_also_rebuilt_at_every_step(case: OperatorCase) -> None:
    for verdict in judge(case):
        assert verdict.difference is None, verdict.line()


@pytest.mark.parametrize(
    "case",
    [*read_lines(DATA / "operator_validation.jsonl", ValidationCase)],
    ids=lambda case: case.id,
)
def test_recorded_configurations(case: ValidationCase) -> None:
    for verdict in judge_validation(case):
        assert verdict.difference is None, verdict.line()


def test_rejections_have_the_librarys_reasons() -> None:
    rejected = [
        (case, profile)
        for case in read_lines(DATA / "operator_validation.jsonl", ValidationCase)
        for profile in case.profiles
        if (case.reason or "").startswith("STDTK")
    ]
    assert {case.reason for case, _ in rejected} == {*REASONS.values()}
    for case, profile in rejected:
        error = refusal(case, Profile(profile))
        assert isinstance(error, OperatorError)
        assert REASONS[error.reason] == case.reason, case.id


def configured(operator: str, config: dict[str, object]) -> ValidationCase:
    about = {"id": "x", "profile": "both", "operator": operator, "accepted": False}
    return ValidationCase.model_validate({**about, "config": config})


TUMBLING = {"window": "tumbling", "eviction": "count"}


@pytest.mark.parametrize(
    ("operator", "config", "reason"),
    [
        ("Aggregate", TUMBLING | {"partitioned_keyword": True}, "MISSING_PARTITIONED"),
        ("Aggregate", TUMBLING | {"partition_eviction": "tupleCount"}, "PARTITION_EVICTION"),
        (
            "Aggregate",
            TUMBLING | {"aggregateEvictedPartitions": False},
            "AGGREGATE_EVICTED_AND_UNPARTITIONED",
        ),
        ("Aggregate", {"window": "sliding", "eviction": "punct"}, "UNSUPPORTED_WINDOW"),
        ("Sort", TUMBLING | {"order": ["ascending"] * 2}, "SORT_ORDER"),
        ("Sort", TUMBLING | {"order": ["upwards"]}, "SORT_ORDER"),
        ("Sort", TUMBLING | {"sortBy": []}, "SORT_BY"),
        ("Join", {"equalityLHS": ["v"], "equalityRHS": ["ts"]}, "JOIN_EQUALITY_TYPES"),
        ("Join", {"partitionByLHS": True, "windows_partitioned": "neither"}, "MISSING_PARTITIONED"),
        ("Join", {"left": "sliding count count(2)"}, "JOIN_TRIGGER"),
    ],
)
@pytest.mark.parametrize("profile", [*Profile])
def test_configurations_that_no_row_has(
    operator: str, config: dict[str, object], reason: str, profile: Profile
) -> None:
    error = refusal(configured(operator, config), profile)
    assert isinstance(error, OperatorError)
    assert error.reason == reason


@pytest.mark.parametrize(
    ("operator", "config", "says"),
    [
        ("Sort", TUMBLING | {"sortBy": ["m"]}, "the type of m"),
        ("Aggregate", TUMBLING | {"custom": True}, "has custom"),
        ("Aggregate", TUMBLING | {"eviction": "weight(3)"}, "weight"),
        ("Aggregate", {"window": "timeInterval"}, "timeInterval"),
        ("Join", {"windows_partitioned": "sometimes"}, "sometimes"),
    ],
)
def test_what_no_rule_covers_is_not_judged(
    operator: str, config: dict[str, object], says: str
) -> None:
    found = MODELS.run(configured(operator, config))
    assert isinstance(found, NotExpressible)
    assert says in found.why


def test_a_clause_without_trigger_reports_at_every_tuple() -> None:
    clause = configured("Sort", {"window": "sliding", "eviction": "count"})
    assert refusal(clause, Profile.paper) is None


def test_the_counts_of_the_paper() -> None:
    """52 and 90; of Sort 28 by the text, 20 by the library (the 44 is not derivable)."""
    assert len([*aggregate_windows()]) == 52
    assert len([*join_windows()]) == 90
    assert len([*sort_windows(Profile.paper)]) == 28
    assert len([*sort_windows(Profile.osstreams)]) == 20
    assert len([*aggregate_windows(kept=True)]) == 65
    assert len([*join_windows(kept=True)]) == 9 * 17


def rows_of(sent: list[PortOutput]) -> list[object]:
    return ["|" if isinstance(one.item, Punctuation) else one.item for one in sent]


def test_every_function_of_a_group_computed_by_hand() -> None:
    """Values 3, 1, 3, 2 with names a, b, c, d."""
    two = ("v", "n")
    outputs = {
        name: Output(name, two if arity == 2 else ("v",) if arity else ())
        for name, (arity, _) in FUNCTIONS.items()
        if name != "Percentile"
    }
    outputs["Percentile"] = Output("Percentile", ("v", "50"))
    sent: list[PortOutput] = []
    operator = Aggregate(tumbling(count(4)), outputs, sent.append)
    for value, name in ((3, "a"), (1, "b"), (3, "c"), (2, "d")):
        operator.insert({"v": value, "n": name})
    found = rows_of(sent)[0]
    assert isinstance(found, dict)
    assert found.pop("SampleStdDev") == pytest.approx((2.75 / 3) ** 0.5)
    assert found.pop("PopulationStdDev") == pytest.approx((2.75 / 4) ** 0.5)
    assert found == {
        "Count": 4,
        "CountAll": 4,
        "CountGroups": 1,
        "CountByGroup": [4],
        "Any": 2,
        "First": 3,
        "Last": 2,
        "Collect": [3, 1, 3, 2],
        "CollectDistinct": [3, 1, 2],
        "CountDistinct": 3,
        "CountByDistinct": [2, 1, 1],
        "Sum": 9,
        "Average": 2,
        "Min": 1,
        "Max": 3,
        "ArgMin": "b",
        "ArgMax": "a",
        "CollectArgMin": ["b"],
        "CollectArgMax": ["a", "c"],
        "MinCount": 1,
        "MaxCount": 2,
        "Percentile": 2,
    }


def aggregated(rows: list[dict], **outputs: Output) -> object:
    """The one tuple that a batch of tuples gives."""
    sent: list[PortOutput] = []
    operator = Aggregate(tumbling(count(len(rows))), outputs, sent.append)
    for row in rows:
        operator.insert(row)
    return rows_of(sent)[0]


def test_functions_of_lists_and_text() -> None:
    rows = [{"l": [1, 9], "s": "b"}, {"l": [4, 2], "s": "a"}, {"l": [1, 9], "s": "b"}]
    on_lists = {name: Output(name, ("l",)) for name in ("Sum", "Average", "Min", "Max")}
    assert aggregated(
        rows,
        **on_lists,
        distinct=Output("CollectDistinct", ("l",)),
        counts=Output("CountByDistinct", ("l",)),
        text=Output("Sum", ("s",)),
        least=Output("Min", ("s",)),
    ) == {
        "Sum": [6, 20],
        "Average": [2, 6],
        "Min": [1, 2],
        "Max": [4, 9],
        "distinct": [[1, 9], [4, 2]],
        "counts": [2, 1],
        "text": "bab",
        "least": "a",
    }
    with pytest.raises(ValueError, match="zip"):
        aggregated([{"l": [1]}, {"l": [1, 2]}], x=Output("Sum", ("l",)))


def test_functions_of_values_that_are_not_finite() -> None:
    rows = [{"v": 1.0}, {"v": math.inf}]
    names = ("Sum", "Average", "SampleStdDev")
    found = aggregated(rows, **{name: Output(name, ("v",)) for name in names})
    assert str(found) == "{'Sum': inf, 'Average': inf, 'SampleStdDev': nan}"


def test_a_function_of_the_users() -> None:
    longest = Custom(str, lambda best, row: max(best, row["s"], key=len), str.upper)
    rows = [{"s": "a"}, {"s": "ccc"}, {"s": "bb"}]
    assert aggregated(rows, x=Output(longest)) == {"x": "CCC"}


def test_the_library_swaps_two_counts() -> None:
    sent: list[PortOutput] = []
    outputs = {"least": Output("MinCount", ("v",)), "most": Output("MaxCount", ("v",))}
    library = Profile.osstreams
    operator = Aggregate(tumbling(count(3)), outputs, sent.append, profile=library)
    for value in (1, 2, 2):
        operator.insert({"v": value})
    assert rows_of(sent) == [{"least": 2, "most": 1}, "|"]


def test_tuples_leave_both_windows_of_a_join_in_the_order_of_time() -> None:
    sent: list[PortOutput] = []
    clock = ManualClock()
    operator = Join(
        sliding(time(5)),
        sliding(time(2)),
        lambda left, right: {"l": left.get("id"), "r": right.get("id")},
        sent.append,
        kind=JoinKind.outer,
        where=lambda left, right: False,
        clock=clock,
    )
    operator.insert({"id": 1}, 0)  # leaves at 5
    operator.tick(1_000_000)
    operator.insert({"id": 2}, 1)  # leaves at 3
    operator.tick(9_000_000)
    assert rows_of(sent) == [{"l": None, "r": 2}, {"l": 1, "r": None}]


def test_sort_takes_several_attributes_each_in_its_order() -> None:
    sent: list[PortOutput] = []
    operator = Sort(tumbling(punct()), ["a", "b"], sent.append, order=["ascending", "descending"])
    for a, b in ((2, 1), (1, 1), (1, 3), (2, 5)):
        operator.insert({"a": a, "b": b})
    operator.punctuate(Marker.window)
    shown = [(row["a"], row["b"]) for row in rows_of(sent) if row != "|"]  # type: ignore[index]
    assert shown == [(1, 3), (1, 1), (2, 5), (2, 1)]


@pytest.mark.parametrize(
    "build",
    [
        lambda send: Aggregate(tumbling(count(1)), {"x": Output("Median", ("v",))}, send),
        lambda send: Aggregate(tumbling(count(1)), {"x": Output("ArgMin", ("v",))}, send),
        lambda send: Aggregate(tumbling(count(1)), {"x": Output(Custom(int, 1, int))}, send),
        lambda send: Aggregate(tumbling(count(1)), {}, send, evicted_partitions=False),
        lambda send: Sort(sliding(count(3), count(2)), ["v"], send),
        lambda send: Sort(tumbling(count(3)), [], send),
        lambda send: Sort(sliding(delta("v", 1)), ["v"], send, profile=Profile.osstreams),
        lambda send: Join(tumbling(count(1)), sliding(count(1)), lambda a, b: a, send),
        lambda send: Join(
            sliding(count(1)), sliding(count(1)), lambda a, b: a, send, equal=(["v"], [])
        ),
    ],
)
def test_what_an_operator_does_not_take(build: object) -> None:
    with pytest.raises(OperatorError):
        build(lambda _: None)  # type: ignore[operator]
