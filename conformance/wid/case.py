"""A conformance case of the window language, and its translation to our model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

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
from windowing.model.rows import Scalar
from windowing.model.rules import check_generator, check_late, check_progress_key
from windowing.model.windows.language import AttributeType
from windowing.model.windows.parsing import parse_window
from windowing.semantics.controls import Bound, Control, Observation
from windowing.semantics.stream import Event, Question

_ATTRIBUTES: dict[str, AttributeType] = {
    "ts": "time",
    "pos": "number",
    "value": "number",
    "key": "text",
    "group": "text",
}


CaseFunction = Literal["count", "sum", "mean", "min", "max", "first", "last", "count_distinct"]
"""The aggregate functions of cases, all of the field `value`."""


class CaseError(ValueError):
    """A line that is not a case."""

    exit_code = 2


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
