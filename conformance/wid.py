"""Cases of the window language: inputs and their exact outputs.

A case is judged by the definition or by rows computed elsewhere. Both are compared in full; a
difference is described by its kind, its row, and the shortest input that shows it.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from conformance.cases import OnRefusal, Verdict, read_rows, stop
from windowing.model.emission import Late
from windowing.model.errors import WindowError
from windowing.model.fields import Aggregate
from windowing.model.file.pipeline import Query
from windowing.model.progress import (
    Delays,
    Disorder,
    Heartbeat,
    OrderedPer,
    Punctuation,
    Slack,
    SlackRows,
    Unordered,
)
from windowing.model.rows import Scalar, Value
from windowing.model.rules import check_generator, check_late, check_progress_key
from windowing.model.types import FieldType
from windowing.model.windows.language import AttributeType
from windowing.model.windows.parsing import parse_window
from windowing.model.windows.traits import Ends
from windowing.semantics.controls import Bound, Control, Observation
from windowing.semantics.revisions import values_of
from windowing.semantics.stream import AfterEndError, Answer, Event, Question, answer
from windowing.semantics.units import ArrivalOrderError, Item, WindowRevision

_ATTRIBUTES: dict[str, AttributeType] = {
    "ts": "time",
    "pos": "number",
    "value": "number",
    "key": "text",
    "group": "text",
}


CaseFunction = Literal["count", "sum", "mean", "min", "max", "first", "last", "count_distinct"]
"""The aggregate functions of cases, all of the field `value`."""


class Case(BaseModel):
    """A case as in the file.

    Attributes:
        window: in the window language.
        aggregates: functions, in the order of the output.
        lanes: all lanes, as `source/partition`.
        disorder: the generator, by `kind`.
        late: `mode`, `policy`, and `epoch` with update.
        input: records in one order of arrival.
        expected: the output, or an error's code.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    window: str
    group_by: str | None
    aggregates: list[CaseFunction]
    value_type: Literal["int", "float"]
    lanes: list[str]
    disorder: dict[str, Any]
    late: dict[str, Any]
    input: list[dict[str, Any]]
    expected: dict[str, Any]
    note: str | None = None


def question_of(case: Case) -> Question:
    """Translate a case to our model.

    Raises:
        WindowError: with the code of the first rule that it breaks.
    """
    group_by = () if case.group_by is None else (case.group_by,)
    window = parse_window(case.window, _ATTRIBUTES, group_by)
    disorder = _disorder(case.disorder)
    check_generator(window, disorder)
    check_progress_key(window, group_by, disorder)
    mode, policy, epoch = (case.late.get(name) for name in ("mode", "policy", "epoch"))
    check_late(window, str(mode), str(policy), epoch)
    late = {"mode": mode, "policy": policy} | ({} if epoch is None else {"every": f"{epoch} us"})
    query = Query(
        name="case",
        window=window,
        group_by=group_by,
        aggregates=tuple(
            Aggregate(f"{number}", function, None if function == "count" else "value")
            for number, function in enumerate(case.aggregates)
        ),
        late=Late.model_validate(late),
        retention_us=None,
    )
    ignore_control = bool(case.disorder.get("ignore_control", False))
    return Question(query, tuple(case.lanes), disorder, ignore_control)


def events_of(case: Case) -> Iterator[Event]:
    """Return the input of a case, in order of arrival."""
    for record in case.input:
        control = _control(record) if "c" in record else None
        if control is not None:
            yield Event(record["l"], record["o"], None, control)
            continue
        names = ("ts", "pos", "key", "group", "value")
        fields: dict[str, Scalar] = {name: record.get(name) for name in names}
        if case.value_type == "float" and fields["value"] is not None:
            fields["value"] = float(fields["value"])
        yield Event(record["l"], record["o"], record["ts"], fields)


def _control(record: dict[str, Any]) -> Control:
    if record["c"] == "end":
        return "end"
    if "b" in record:
        on = record.get("on")
        return Bound(record["b"], None if on is None else dict([next(iter(on.items()))]))
    return Observation(record.get("now"), record.get("seen", {}))


def _disorder(value: dict[str, Any]) -> Disorder:
    kind = value.get("kind")
    if kind == "slack_time" and value.get("us", -1) >= 0:
        return Slack(value["us"])
    if kind == "slack_tuples" and value.get("n", -1) >= 0:
        return SlackRows(value["n"])
    if kind == "ordered_per":
        members = value.get("members")
        listed = None if members is None else tuple((k, tuple(v)) for k, v in members.items())
        return OrderedPer(value["attr"], listed)
    if kind == "heartbeat":
        delays = value["sources"].items()
        return Heartbeat(tuple((lane, Delays(d["L"], d["l"], d["s"])) for lane, d in delays))
    simple: dict[object, Disorder] = {
        "none": Unordered(),
        "ordered": Slack(0),
        "punctuation": Punctuation(value.get("attr")),
    }
    if kind in simple:
        return simple[kind]
    raise WindowError("E_DISORDER", f"{value!r} is not a generator, or its slack is negative")


Expected = Mapping[str, Any]
Evaluate = Callable[[Case], Expected]

_PARTS = ("rows", "late", "outside", "progress")
_ROW_ID = 6


def read_cases(path: Path, refused: OnRefusal = stop) -> Iterator[Case]:
    """Read a file of cases; see `read_rows`."""
    return read_rows(path, Case, "not a case of the window language", refused)


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
    kinds = {"value": FieldType(case.value_type)}
    values = values_of(question.query.aggregates, kinds, shown)[0].values()
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
