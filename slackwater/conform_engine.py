"""Cases of the window language run by the local engine, as far as it goes.

A case becomes a pipeline and its input a log. The engine has sliding windows, progress per lane,
and some of the aggregates; it gives rows without their epoch, and of late records those that no
window took. That much of `expected` is compared with it, and the verdict says what was left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from chaos.conform import wid
from chaos.conform.wid_case import Case, question_of
from windowing import local
from windowing.batches import batches
from windowing.spec import Pipeline, WindowError, parse_pipeline
from windowing.spec import disorder as spec
from windowing.spec.fields import SUPPORTED
from windowing.spec.rows import Row
from windowing.spec.window import Window, WindowClass

_TOPIC = "s"
_FOR_EVER = f"{2**62} us"
_EPOCH = 6
_BATCH_ROWS = (1, 4, 1000)


@dataclass(frozen=True)
class _Entry:
    """One record of the log."""

    source: str
    partition: int
    offset: int
    value: bytes | None
    control: bytes | None
    append_us: int | None = None


def judge(case: Case, interleavings: int) -> list[wid.Verdict]:
    """Judge a case by the engine, and by the definition what the engine leaves out.

    Returns:
        no verdict if the engine does not have the case's kind of window or progress.
    """
    try:
        question = question_of(case)
    except WindowError:
        return []
    supported = [function for function in case.aggregates if function in SUPPORTED]
    keyed = spec.progress_attr(question.disorder) is not None
    sliding = question.query.window.kind is WindowClass.SLIDING
    if not sliding or keyed or question.ignore_control or not supported:
        return []
    part = _engine_part(case)
    left_out = [function for function in case.aggregates if function not in SUPPORTED]
    name = "engine" + (f" without {', '.join(left_out)}" if left_out else "")
    verdicts = []
    for rows in _BATCH_ROWS:
        verdict = wid.judge(
            part, lambda order, rows=rows: by_engine(order, rows), name, interleavings
        )
        verdicts.append(verdict)
    whole = wid.judge(case, wid.by_definition, "definition", interleavings)
    failed = [verdict for verdict in verdicts if verdict.difference is not None]
    return [failed[0] if failed else verdicts[0], whole]


def by_engine(case: Case, batch_rows: int) -> wid.Expected:
    """What the local engine makes of the part of a case that `_engine_part` gives."""
    question = question_of(case)
    pipeline = pipeline_of(case)
    window = question.query.window
    output = local.run(pipeline, batches(_entries(case), batch_rows))
    if any(letter.reason == "after_end" for letter in output.dead_letters):
        return {"error": "E_AFTER_END"}
    rows = [_row(case, window, row) for row in output.rows]
    late = sorted([letter.partition, letter.offset] for letter in output.dead_letters)
    return {"rows": sorted(rows, key=wid.row_order), "late": late}


def pipeline_of(case: Case) -> Pipeline:
    """The pipeline that asks what a case asks."""
    question = question_of(case)
    window, late = question.query.window, question.query.late
    document = {
        "name": "case",
        "source": {
            "topic": _TOPIC,
            "partitions": len(case.lanes),
            "format": "json",
            "event_time": {"field": window.attribute, "unit": "us"},
            "fields": {
                **{"key": "string?", "group": "string?", "value": f"{case.value_type}?"},
                **{name: "int?" for name in ("ts", "pos") if name != window.attribute},
            },
            "disorder": _spelled(question.disorder, case.lanes),
        },
        # A dropped record leaves no trace; a dead letter says that it was late.
        "late": {"mode": late.mode, "policy": "dead_letter"}
        if late.policy == "drop"
        else {"mode": late.mode, "policy": late.policy, "every": f"{late.every_us} us"},
        "retention": _FOR_EVER,
        "shards": 2,
        "queries": {
            "case": {
                "window": f"RANGE {window.range_} us SLIDE {window.slide} us "
                f"WATTR {window.attribute} ORIGIN {window.origin} us",
                "group_by": _keys(case, window),
                "aggregates": {
                    f"a{number}": function if function == "count" else f"{function}(value)"
                    for number, function in enumerate(case.aggregates)
                },
            }
        },
    }
    return parse_pipeline(yaml.safe_dump(document), case.id)


def _engine_part(case: Case) -> Case:
    """The case with what the engine does not give taken out."""
    kept = [n for n, function in enumerate(case.aggregates) if function in SUPPORTED]
    aggregates = [case.aggregates[n] for n in kept]
    if "error" in case.expected:
        return case.model_copy(update={"aggregates": aggregates})
    head = len(case.expected["rows"][0]) - len(case.aggregates) if case.expected["rows"] else 0
    rows = [[*row[:_EPOCH], None, *(row[head + n] for n in kept)] for row in case.expected["rows"]]
    refused = case.late["policy"] == "drop"
    late = [row[:2] for row in case.expected["late"] if refused and row[3] == "all"]
    return case.model_copy(
        update={"aggregates": aggregates, "expected": {"rows": rows, "late": late}}
    )


def _keys(case: Case, window: Window) -> list[str]:
    """PATTR and GROUP BY mean the same to sliding windows; a field stands in a key once."""
    named = [name for name in (window.pattr, case.group_by) if name is not None]
    return list(dict.fromkeys(named))


def _row(case: Case, window: Window, row: Row) -> list[Any]:
    key = dict(zip(_keys(case, window), row.key, strict=True))
    part = None if window.pattr is None else key[window.pattr]
    group = None if case.group_by is None else key[case.group_by]
    head = [row.window_id, row.window_start_us, row.window_end_us, part, group]
    return [*head, row.revision, None, *row.values.values()]


def _spelled(disorder: spec.Disorder, lanes: list[str]) -> Any:
    """A generator as a pipeline file spells it, the lanes by the names that they have there."""
    here = {lane: f"{_TOPIC}/{number}" for number, lane in enumerate(lanes)}
    match disorder:
        case spec.Slack(slack_us):
            return {"slack": f"{slack_us} us"}
        case spec.SlackRows(rows):
            return {"slack": f"{rows} rows"}
        case spec.OrderedPer(attr, members) if members is not None:
            named = {here[lane]: list(values) for lane, values in members}
            return {"ordered_per": {"attr": attr, "members": named}}
        case spec.Heartbeat(sources):
            return {
                "heartbeat": {
                    here[lane]: {
                        "max_delay": f"{delays.max_delay_us} us",
                        "min_delay": f"{delays.min_delay_us} us",
                        "skew": f"{delays.skew_us} us",
                    }
                    for lane, delays in sources
                }
            }
        case _:
            return "punctuation"


def _entries(case: Case) -> Iterable[_Entry]:
    here = {lane: f"{_TOPIC}/{number}" for number, lane in enumerate(case.lanes)}
    for record in case.input:
        place = (_TOPIC, record["l"], record["o"])
        if "c" not in record:
            value = {name: record[name] for name in record if name not in ("l", "o")}
            yield _Entry(*place, json.dumps(value).encode(), None)
            continue
        control: dict[str, Any] = {}
        if record["c"] == "end":
            control = {"end": True}
        elif "b" in record:
            control = {"bound": record["b"]} | ({"on": record["on"]} if "on" in record else {})
        else:
            control = {"now": record["now"]} if "now" in record else {}
            if "seen" in record:
                seen = record["seen"].items()
                control["seen"] = {here.get(lane, lane): ts_us for lane, ts_us in seen}
        yield _Entry(*place, None, json.dumps(control).encode())
