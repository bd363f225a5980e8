"""Conformance to the window language: cases of inputs and their exact outputs.

A case is judged by the definition or by rows computed elsewhere. Both are compared in full; a
difference is described by its kind, its row, and the shortest input that shows it.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.case_lines import read_rows
from conformance.wid.case import Case, events_of, question_of
from windowing.model.errors import WindowError
from windowing.model.rows import Value
from windowing.model.windows.traits import Ends
from windowing.semantics.row_values import value_of
from windowing.semantics.stream import AfterEndError, Answer, Question, answer
from windowing.semantics.units import ArrivalOrderError, Item, WindowRevision

Expected = Mapping[str, Any]
Evaluate = Callable[[Case], Expected]

_PARTS = ("rows", "late", "outside", "progress")
_ROW_ID = 6


@dataclass(frozen=True)
class Verdict:
    """The verdict on one case.

    Attributes:
        judged_by: what computed the output.
        difference: description of the first difference; None: there is none.
    """

    case: str
    judged_by: str
    difference: str | None

    def line(self) -> str:
        """The verdict as one line of a report."""
        outcome = "pass" if self.difference is None else f"FAIL: {self.difference}"
        return f"{self.case}: {outcome} (by {self.judged_by})"


def read_cases(path: Path) -> Iterator[Case]:
    """Read a file of cases.

    Raises:
        CaseError: a line is not a case; with its number.
    """
    return read_rows(path, Case, "not a case of the window language")


def by_definition(case: Case) -> Expected:
    """Return the definition's result for a case, in the format of `expected`."""
    try:
        question = question_of(case)
        found = answer(question, events_of(case))
    except (WindowError, AfterEndError, ArrivalOrderError) as error:
        return {"error": error.code}
    return {
        "rows": sorted((_row(case, question, shown) for shown in found.shown), key=row_order),
        "late": _late(case, question, found),
        "outside": sorted([*_place(case, item), reason] for item, reason in found.outside),
        "progress": [_progress(lane.progress) for lane in found.lanes],
    }


def judge(case: Case, evaluate: Evaluate, judged_by: str, interleavings: int = 0) -> Verdict:
    """Compare a driver's result for a case with the expectation.

    Args:
        evaluate: computes the output; parts of `expected` that it leaves out are not compared.
        interleavings: number of other orders of arrival that must give the same result.
    """
    orders = [case, *(shuffled(case, seed) for seed in range(interleavings))]
    for number, order in enumerate(orders):
        difference = _difference(order, evaluate(order))
        if difference is not None:
            where = f"interleaving {number - 1}: " if number else ""
            of_rows = difference.startswith("rows:") and evaluate is by_definition
            prefix = _shortest_prefix(order, evaluate) if of_rows else None
            shown = f"; input up to record {prefix} shows it" if prefix is not None else ""
            return Verdict(case.id, judged_by, f"{where}{difference}{shown}")
    return Verdict(case.id, judged_by, None)


def shuffled(case: Case, seed: int) -> Case:
    """Return the case with another order of arrival that keeps the order of each lane."""
    turns = [record["l"] for record in case.input]
    random.Random(seed).shuffle(turns)
    lanes = {
        lane: iter([record for record in case.input if record["l"] == lane]) for lane in set(turns)
    }
    return case.model_copy(update={"input": [next(lanes[lane]) for lane in turns]})


def _difference(case: Case, found: Expected) -> str | None:
    expected = case.expected
    if "error" in expected or "error" in found:
        if found.get("error") == expected.get("error"):
            return None
        return f"error: expected {expected.get('error')}, got {found.get('error')}"
    for part in _PARTS:
        if part in found and _spelled(found[part]) != _spelled(expected[part]):
            return _first_difference(part, expected[part], found[part])
    return None


def _first_difference(part: str, expected: Sequence[Any], found: Sequence[Any]) -> str:
    identity = {"rows": _ROW_ID, "late": 2, "outside": 2}.get(part)
    if identity is None:
        return f"{part}: expected {_spelled(expected)}, got {_spelled(found)}"
    wanted = {_spelled(row[:identity]): row for row in expected}
    got = {_spelled(row[:identity]): row for row in found}
    for name, row in wanted.items():
        if name not in got:
            return f"{part}: missing {_spelled(row)}"
        if _spelled(got[name]) != _spelled(row):
            return f"{part}: expected {_spelled(row)}, got {_spelled(got[name])}"
    extra = next((row for name, row in got.items() if name not in wanted), None)
    # The remaining possibilities are a duplicate row or another order.
    return f"{part}: {'extra ' + _spelled(extra) if extra is not None else 'wrong order'}"


def _shortest_prefix(case: Case, evaluate: Evaluate) -> int | None:
    """Return the length of the shortest input with a row that is not expected at the end."""
    for count in range(len(case.input) + 1):
        found = evaluate(case.model_copy(update={"input": case.input[:count]}))
        expected = {_spelled(row) for row in case.expected.get("rows", [])}
        if any(_spelled(row) not in expected for row in found.get("rows", [])):
            return count
    return None


def row_order(row: Sequence[Any]) -> tuple[Any, ...]:
    """Sort key of rows: window, PATTR, GROUP BY (null first, by code point), revision."""
    keys = ((part is not None, part or "") for part in row[3:5])
    return (row[0], *keys, row[5])


def _row(case: Case, question: Question, shown: WindowRevision) -> list[Value]:
    kinds = {"value": case.value_type}
    values = [value_of(spec, kinds, shown) for spec in question.query.aggregates]
    group = shown.group[0] if shown.group else None
    head: list[Value] = [shown.wid, shown.start, shown.end, shown.part, group]
    return [*head, shown.revision, shown.release, *values]


def _late(case: Case, question: Question, found: Answer) -> list[list[Any]]:
    ranged = question.query.window.traits.ends is Ends.SLIDES
    rows = [
        [
            *_place(case, item),
            _progress(item.progress),
            "all" if lateness.whole else "some",
            [lateness.first, lateness.last] if ranged else None,
        ]
        for item, lateness in found.late
    ]
    return sorted(rows, key=lambda row: row[:2])


def _place(case: Case, item: Item) -> list[Any]:
    return [case.lanes.index(item.lane), item.offset]


def _progress(progress: float) -> int | str | None:
    if math.isinf(progress):
        return "+inf" if progress > 0 else None
    return int(progress)


def _spelled(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
