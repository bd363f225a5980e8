"""The table of cases by columns: each alone, and all that have the same fields in one frame."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from tests.strategies.expression_cases import ExpressionCase, expression_cases, is_same
from tests.unit.engine.expressions.frames import dtype_of, frame_of
from windowing.engine.reading.expressions import evaluate, program_over

CASES = defaultdict[str, list[ExpressionCase]](list)
LAYOUTS = defaultdict[str, list[ExpressionCase]](list)
for each in expression_cases():
    CASES[each.name.partition(":")[0]].append(each)
    LAYOUTS[str({name: str(kind) for name, kind in sorted(each.types.items())})].append(each)


def judged(case: ExpressionCase, value: Any, failed: bool) -> None:
    _, kind = case.parsed()
    found = (failed, value)
    assert failed == case.fails, (case, found)
    assert value is None if case.fails else is_same(value, case.expected(kind)), (case, found)


@pytest.mark.parametrize("file", CASES)
def test_each_alone(file: str) -> None:
    for case in CASES[file]:
        tree, kind = case.parsed()
        found = evaluate(tree, frame_of(case.types, [case.values]), case.types)
        assert found.values.dtype == dtype_of(kind), case
        judged(case, found.values[0], found.failed[0])


def test_all_that_have_the_same_fields() -> None:
    """So that rows do not touch each other, nor expressions of one program."""
    for cases in LAYOUTS.values():
        types = cases[0].types
        frame, program = frame_of(types, [case.values for case in cases]), program_over(types)
        for case in cases:
            program.add(case.parsed()[0])
        for row, (case, found) in enumerate(zip(cases, program.run(frame), strict=True)):
            judged(case, found.values[row], found.failed[row])
