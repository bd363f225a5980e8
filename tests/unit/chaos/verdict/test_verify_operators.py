"""The verdict on queries of operators, and on those to which lanes gave one name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from chaos.readers.output import output_of
from chaos.verdict.verify import Verdict, verify, with_records
from tests.strategies import Entry
from tests.unit.chaos.verdict.test_verify import PIPELINE
from windowing.model import parse_pipeline
from windowing.model.rows import DeadLetter, Row
from windowing.semantics import evaluate
from windowing.semantics.view import effective

OPERATORS = parse_pipeline(
    """
name: operators
source:
  topic: t
  partitions: 1
  format: json
  event_time: {field: ts, unit: us}
  fields: {v: int}
  disorder: {slack: 0 us}
late: {policy: drop}
queries:
  pairs: {operator: aggregate, window: TUMBLING count(2), aggregates: {s: sum(v)}}
  singles: {operator: sort, window: TUMBLING count(1), by: [v]}
  walled: {operator: aggregate, window: TUMBLING time(1 second), aggregates: {n: count},
           clock: wall}
"""
)
LOG = [
    *(Entry("t", 0, n, b'{"ts": %d, "v": %d}' % (n, 2**n), None, None) for n in range(4)),
    Entry("t", 0, 4, None, b'{"end": true}', None),
]


def judge(rows: Sequence[Row]) -> Verdict:
    return with_records(verify(OPERATORS, LOG, output_of(rows, [], "rows")), OPERATORS, LOG)


def rows() -> list[Row]:
    return list(evaluate(OPERATORS, LOG).rows)


def test_rows_by_the_machines_clock_are_named_and_not_compared() -> None:
    (first, *_) = rows()
    verdict = judge([*rows(), replace(first, query="walled", values={"n": 7})])
    assert verdict.ok
    assert verdict.left_out == ("walled",)
    said = "rows of walled: not compared, because it follows the machine's clock"
    assert verdict.lines().count(said) == 1


def test_records_of_such_a_query_are_accounted_for() -> None:
    accounts = {part.query: part.expected["applied"] for part in judge(rows()).conservation}
    assert accounts == {"pairs": 4, "singles": 4, "walled": 4}


def test_the_smallest_differing_report_is_shown_with_its_records() -> None:
    pairs = [row for row in rows() if row.query == "pairs"]
    wrong = [*pairs[:1], replace(pairs[1], values={"s": 13})]
    verdict = judge([*wrong, *(row for row in rows() if row.query == "singles")])
    assert verdict.lines()[-1] == "lost 0, duplicated 0, differing 1"
    assert "smallest differing window: pairs window 1, key [], revision 0" in verdict.lines()
    assert verdict.records == (
        "  its records by the definition: 2",
        '    partition 0, offset 2: {"ts": 2, "v": 4}',
        '    partition 0, offset 3: {"ts": 3, "v": 8}',
    )


def test_a_report_that_is_lost_is_found() -> None:
    assert judge(rows()[1:]).rows.totals == (1, 0, 0)


def test_dead_letters_of_a_name_that_lanes_dispute_are_passed_over() -> None:
    """A run had written some before it knew; those of any other name count."""
    add = {"window": "RANGE 10 us SLIDE 10 us WATTR ts", "group_by": ["k"], "from": 20}
    log = [
        Entry("s", lane, 0, None, json.dumps({"queries": {"add": {"new": query}}}).encode(), None)
        for lane, query in enumerate({**add, "aggregates": {name: "count"}} for name in "ab")
    ]
    asked = parse_pipeline(PIPELINE.replace("partitions: 2", "partitions: 2\n  control: all"))
    pipeline = effective(asked, log)
    assert [*pipeline.conflicts] == ["new"]
    outcome, early = evaluate(pipeline, log), DeadLetter("s", 0, 7, "new", "late")
    assert [letter.reason for letter in outcome.dead] == ["not_allowed"]
    for letter, is_right in ((early, True), (replace(early, query="w"), False)):
        output = output_of(outcome.rows, [*outcome.dead, letter], "run")
        assert verify(pipeline, log, output).ok is is_right
