"""Run cases of the window language on the local engine and on Spark, as far as they express them.

A case becomes a pipeline, and its input a log with lanes in canonical order. The engine returns
rows without their epoch, and only those late records that no window accepted; this part of
`expected` is compared with its output. The definition judges the whole case as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import yaml

from conformance import wid
from conformance.cases import Driver, Verdict
from conformance.wid import Case, question_of
from windowing.engine.reading.batches import batches
from windowing.engine.reading.pack import RawRows
from windowing.model import Pipeline, WindowError, parse_pipeline
from windowing.model import progress as spec
from windowing.model.rows import Row
from windowing.model.run_errors import ArrivalOrder
from windowing.model.windows.traits import Order
from windowing.model.windows.window import ROW_NUM, Window
from windowing.runtime import local

Batches = Sequence[Mapping[int, RawRows]]
RunAll = Callable[[Sequence[tuple[Pipeline, Batches]]], list[local.Output]]


_TOPIC = "s"
_FOR_EVER = f"{2**62} us"
_EPOCH = 6
_ALL_ORDERS_OF = 4
"""Rows of the batches that are read in every order of arrival; a row each takes too long."""
_BATCH_ROWS = (1, _ALL_ORDERS_OF, 1000)


@dataclass(frozen=True)
class LogEntry:
    """A record of the log."""

    source: str
    partition: int
    offset: int
    value: bytes | None
    control: bytes | None
    append_us: int | None = None


def local_engine(interleavings: int) -> Driver[Case]:
    """Return the local engine, with the definition for what the engine leaves out.

    So many other orders of arrival, `interleavings`, must give the same result.
    """
    return Driver("engine", partial(judge, interleavings=interleavings))


def definition(interleavings: int) -> Driver[Case]:
    """Return the definition of the window language; `interleavings` as in `local_engine`."""
    return Driver("definition", partial(_by_definition, interleavings=interleavings))


def on_spark(cases: Sequence[Case], interleavings: int, run_all: RunAll) -> Driver[Case]:
    """Return the engine on Spark, which runs all these cases in one stream when first asked."""

    @cache
    def verdicts() -> dict[int, list[Verdict]]:
        # By object: a file may have two cases of one id.
        found = judge_on_spark(cases, interleavings, run_all)
        return {id(case): verdicts for case, verdicts in zip(cases, found, strict=True)}

    return Driver("engine on Spark", lambda case: verdicts()[id(case)], at_once=True)


def _by_definition(case: Case, interleavings: int) -> list[Verdict]:
    return [wid.judge(case, wid.by_definition, "definition", interleavings)]


def judge(case: Case, interleavings: int) -> list[Verdict]:
    """Judge a case by the engine, and the rest by the definition."""
    try:
        question_of(case)
    except WindowError as error:
        # A case that is rejected when it is read is not run.
        code = error.code
        return [wid.judge(case, lambda _: {"error": code}, "specification", 0)]
    part = engine_part(case)
    verdicts = []
    for rows in _BATCH_ROWS:
        evaluate = partial(by_engine, batch_rows=rows)
        orders = interleavings if rows == _ALL_ORDERS_OF else 0
        verdict = wid.judge(part, evaluate, "engine", orders)
        verdicts.append(verdict)
    failed = [verdict for verdict in verdicts if verdict.difference is not None]
    return [failed[0] if failed else verdicts[0], *_by_definition(case, interleavings)]


def by_engine(case: Case, batch_rows: int) -> wid.Expected:
    """Return the local engine's result for the part of a case that `engine_part` selects."""
    pipeline = pipeline_of(case)
    try:
        output = local.run(pipeline, batches(entries_of(case), batch_rows))
    except ArrivalOrder as error:
        # An error in the log takes precedence, whichever of the two came first.
        return {"error": "E_AFTER_END" if _after_end(case, "data", "control") else error.code}
    return expected_of(case, output)


def expected_of(case: Case, output: local.Output) -> wid.Expected:
    """Convert an engine's output to the format of `expected`, as far as possible."""
    after_end = any(letter.reason == "after_end" for letter in output.dead_letters)
    if after_end or _after_end(case, "control"):
        return {"error": "E_AFTER_END"}
    window = question_of(case).query.window
    lanes = _partitions(case)
    rows = [_row(case, window, row) for row in output.rows]
    late = sorted([lanes.index(letter.partition), letter.offset] for letter in output.dead_letters)
    return {"rows": sorted(rows, key=wid.row_order), "late": late}


def pipeline_of(case: Case) -> Pipeline:
    """Return the pipeline that is equivalent to a case."""
    question = question_of(case)
    window, late = question.query.window, question.query.late
    time = "ts" if window.attribute == ROW_NUM else window.attribute
    document = {
        "name": "case",
        "source": {
            "topic": _TOPIC,
            "partitions": len(case.lanes),
            "format": "json",
            "event_time": {"field": time, "unit": "us"},
            "fields": {
                **{"key": "string?", "group": "string?", "value": f"{case.value_type}?"},
                **{name: "int?" for name in ("ts", "pos") if name != time},
            },
            "disorder": _spelled(question.disorder, _names(case)),
        },
        # A dropped record leaves no trace; a dead letter shows that it was late.
        "late": {"mode": late.mode, "policy": "dead_letter"}
        if late.policy == "drop"
        else {"mode": late.mode, "policy": late.policy, "every": f"{late.every_us} us"},
        "retention": _FOR_EVER,
        "shards": 2,
        "queries": {
            "case": {
                "window": _window(window),
                "group_by": list(question.query.group_by),
                "aggregates": {
                    f"a{number}": function if function == "count" else f"{function}(value)"
                    for number, function in enumerate(case.aggregates)
                },
            }
        },
    }
    return parse_pipeline(yaml.safe_dump(document), case.id)


def _window(window: Window) -> str:
    rows = window.attribute == ROW_NUM
    unit = "rows" if rows else "us"
    length = "LANDMARK" if window.range_ is None else f"{window.range_} {unit}"
    clauses = [f"RANGE {length}"]
    if window.traits.at_records:
        ranked = window.traits.order is Order.CANONICAL
        order = f"rank({window.attribute})" if ranked else ROW_NUM
        clauses += [f"SLIDE {window.slide} rows RATTR {window.attribute} SATTR {order}"]
    else:
        clauses += [f"SLIDE {window.slide} {unit} WATTR {window.attribute}"]
        order = "log" if window.traits.counts_arrivals else "event_time"
        clauses += [f"ORDER {order}" if rows else f"ORIGIN {window.origin} us"]
    if window.pattr is not None:
        clauses.append(f"PATTR {window.pattr}")
    return " ".join(clauses)


def engine_part(case: Case) -> Case:
    """Remove from `expected` what an engine's output does not contain."""
    if "error" in case.expected:
        return case
    rows = [[*row[:_EPOCH], None, *row[_EPOCH + 1 :]] for row in case.expected["rows"]]
    refused = case.late["policy"] == "drop"
    late = [row[:2] for row in case.expected["late"] if refused and row[3] == "all"]
    return case.model_copy(update={"expected": {"rows": rows, "late": late}})


def _after_end(case: Case, *kinds: str) -> bool:
    """Whether records follow a lane's end; a pipeline ignores control records there."""
    ended: set[int] = set()
    for record in case.input:
        if record["l"] in ended and ("control" if "c" in record else "data") in kinds:
            return True
        if record.get("c") == "end":
            ended.add(record["l"])
    return False


def _partitions(case: Case) -> list[int]:
    """Return the partition for each lane, in canonical order for several sources."""
    places = [lane.rpartition("/") for lane in case.lanes]
    ordered = sorted((source, int(number)) for source, _, number in places)
    return [ordered.index((source, int(number))) for source, _, number in places]


def _names(case: Case) -> dict[str, str]:
    partitions = zip(case.lanes, _partitions(case), strict=True)
    return {lane: f"{_TOPIC}/{partition}" for lane, partition in partitions}


def _row(case: Case, window: Window, row: Row) -> list[Any]:
    key = list(row.key)
    part = None if window.pattr is None else key.pop(0)
    group = None if case.group_by is None else key.pop(0)
    head = [row.window_id, row.window_start_us, row.window_end_us, part, group]
    return [*head, row.revision, None, *row.values.values()]


def _spelled(disorder: spec.Disorder, here: Mapping[str, str]) -> Any:
    match disorder:
        case spec.Slack(slack_us):
            return {"slack": f"{slack_us} us"}
        case spec.SlackRows(rows):
            return {"slack": f"{rows} rows"}
        case spec.OrderedPer(attr, None):
            return {"ordered_per": attr}
        case spec.Punctuation(attr) if attr is not None:
            return {"punctuation": {"attr": attr}}
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


def entries_of(case: Case) -> Iterator[LogEntry]:
    """Convert the input of a case to a log."""
    here, partitions = _names(case), _partitions(case)
    ignore_control = question_of(case).ignore_control
    for record in case.input:
        place = (_TOPIC, partitions[record["l"]], record["o"])
        if "c" not in record:
            value = {name: record[name] for name in record if name not in ("l", "o")}
            yield LogEntry(*place, json.dumps(value).encode(), None)
        elif record["c"] == "end" or not ignore_control:
            yield LogEntry(*place, None, json.dumps(_control(record, here)).encode())


def _control(record: Mapping[str, Any], here: Mapping[str, str]) -> dict[str, Any]:
    if record["c"] == "end":
        return {"end": True}
    if "b" in record:
        return {"bound": record["b"]} | ({"on": record["on"]} if "on" in record else {})
    control = {"now": record["now"]} if "now" in record else {}
    if "seen" in record:
        seen = record["seen"].items()
        control["seen"] = {here.get(lane, lane): ts_us for lane, ts_us in seen}
    return control


_SPARK_BATCHES = 3


def judge_on_spark(
    cases: Sequence[Case], interleavings: int, run_all: RunAll
) -> Iterator[list[Verdict]]:
    """Judge cases by the engine on Spark, and the rest by the definition.

    So many other orders of arrival, `interleavings`, must give the same result. `run_all` runs many
    pipelines on Spark.
    """
    refused = ["error" in wid.by_definition(case) for case in cases]
    accepted = [case for case, no in zip(cases, refused, strict=True) if not no]
    found = iter(_on_spark(accepted, interleavings, run_all))
    for case, no in zip(cases, refused, strict=True):
        if no:
            yield judge(case, interleavings)
        else:
            yield [next(found), *_by_definition(case, interleavings)]


def _on_spark(cases: Sequence[Case], interleavings: int, run_all: RunAll) -> list[Verdict]:
    parts = [engine_part(case) for case in cases]
    runs = []
    for part in parts:
        # The same orders of arrival as in `wid.judge`.
        for order in (part, *(wid.shuffled(part, seed) for seed in range(interleavings))):
            runs.append(in_few_batches(pipeline_of(order), list(entries_of(order))))
    outputs = iter(run_all(runs))
    found = []
    for part in parts:
        given = iter([next(outputs) for _ in range(1 + interleavings)])
        found.append(wid.judge(part, partial(_next, given), "engine on Spark", interleavings))
    return found


def _next(given: Iterator[local.Output], order: Case) -> wid.Expected:
    return expected_of(order, next(given))


def in_few_batches(
    pipeline: Pipeline, log: Sequence[LogEntry], numbered: Pipeline | None = None
) -> tuple[Pipeline, Batches]:
    """Return a run for Spark; `numbered` is the pipeline by whose lanes entries are numbered."""
    rows = max(1, -(-len(log) // _SPARK_BATCHES))
    return pipeline, list(batches(log, rows, numbered))
