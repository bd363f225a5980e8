"""Run scenarios of the window operator as pipelines, if a pipeline file can express them.

The log of a scenario is all that its accepted calls brought; its final rows and dead letters are
those of the steps together, since neither depends on the cut into calls. What only an operator has
is left to it: wall clocks, refusing consumers, crashes, calls between, joins of row numbers.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import yaml

from conformance.drivers.wid_local import LogEntry
from conformance.samza.case import Scenario
from conformance.samza.judge import rows_of, spelled
from conformance.wid.judge import Verdict
from windowing.engine.input.batches import batches
from windowing.model import Pipeline, PipelineError, parse_pipeline
from windowing.model.rows import Row
from windowing.runtime import local

if TYPE_CHECKING:
    from windowing.engine.input.pack import RawRows

    Batches = Sequence[Mapping[int, RawRows]]
    RunAll = Callable[[Sequence[tuple[Pipeline, Batches]]], list[local.Output]]

_BEYOND = 2**62
_FOR_EVER = f"{_BEYOND} us"
_DEFAULT_EVERY_US = 10_000_000
_BATCH_ROWS = (1, 4, 1000)
_ON_SPARK = 3
_FIELDS = {"key": "string?", "value": "int?"}


@dataclass(frozen=True)
class Asked:
    """A scenario as a pipeline and its log.

    Attributes:
        scenario: what is asked.
        pipeline: the question, as a pipeline file has it.
        lanes: the scenario's name of each lane, by the lane's name in the pipeline.
        log: in the order of the steps.
    """

    scenario: Scenario
    pipeline: Pipeline
    lanes: Mapping[str, str]
    log: tuple[LogEntry, ...]

    def once(self) -> Asked:
        """Return the case without redeliveries, which Spark's source never produces."""
        kept = {(entry.source, entry.partition, entry.offset): entry for entry in self.log}
        return replace(self, log=tuple(kept.values()))

    def shuffled(self, seed: int) -> Asked:
        """Return the case with another order of arrival that keeps the order of each lane."""
        turns = [(entry.source, entry.partition) for entry in self.log]
        random.Random(seed).shuffle(turns)
        waiting = {
            lane: iter([e for e in self.log if (e.source, e.partition) == lane])
            for lane in set(turns)
        }
        return replace(self, log=tuple(next(waiting[lane]) for lane in turns))


def asked(scenario: Scenario) -> Asked | None:
    """Convert a scenario to a pipeline; None if it needs a feature that only the operator has."""
    config, late = scenario.config, scenario.config.get("late", {})
    only_operator = (
        scenario.operator == "keys"
        or scenario.standalone
        or any(step["op"] in ("refuse", "crash") for step in scenario.steps)
        or "wall" in (late.get("clock"), config.get("emit", {}).get("clock"))
        or config.get("full") == "past_end"
        or config.get("axis") == "rows"
        # What is new since an early row is a matter of the wall clock.
        or (config.get("early") is not None and "accumulation" in config)
        or _by_row_order(scenario)
    )
    if only_operator:
        return None
    places = _places(scenario)
    document = _join(scenario) if _is_join(scenario) else _query(scenario)
    try:
        pipeline = parse_pipeline(yaml.safe_dump(document, sort_keys=False), scenario.id)
    except PipelineError:
        return None  # an operator may be asked for more, as a length of no time
    lanes = {f"{topic}/{partition}": lane for lane, (topic, partition) in places.items()}
    return Asked(scenario, pipeline, lanes, tuple(_entries(scenario, places)))


def _is_join(scenario: Scenario) -> bool:
    return scenario.operator == "join"


def _by_row_order(scenario: Scenario) -> bool:
    """Whether a value depends on arrival order; a pipeline's first and last go by event time."""
    window = scenario.config.get("window", {})
    in_log_order = window.get("unit") == "rows" and window.get("order", "log") == "log"
    return in_log_order and scenario.config["aggregate"] in ("first", "last", "collect")


def judge(question: Asked, interleavings: int) -> Verdict:
    """Run a scenario on the local engine, in several cuts and orders of arrival."""
    outputs = (
        local.run(order.pipeline, batches(order.log, rows, order.pipeline))
        for order in _orders(question, interleavings)
        for rows in _BATCH_ROWS
    )
    return _verdict(question, outputs, "engine")


def judge_on_spark(
    questions: Sequence[Asked], interleavings: int, run_all: RunAll
) -> list[Verdict]:
    """Run all scenarios on Spark in one stream; return the verdicts in order."""
    runs = []
    for question in questions:
        for order in _orders(question.once(), interleavings):
            rows = max(1, -(-len(order.log) // _ON_SPARK))
            runs.append((order.pipeline, list(batches(order.log, rows, order.pipeline))))
    outputs = iter(run_all(runs))
    return [
        _verdict(question, [next(outputs) for _ in range(1 + interleavings)], "engine on Spark")
        for question in questions
    ]


def _orders(question: Asked, interleavings: int) -> list[Asked]:
    return [question, *(question.shuffled(seed) for seed in range(interleavings))]


def _verdict(question: Asked, outputs: Iterable[local.Output], by: str) -> Verdict:
    """Return the first difference between an output and the scenario's expectation."""
    wanted = _expected(question.scenario)
    for number, output in enumerate(outputs):
        found = _found(question, output)
        for part, expected in wanted.items():
            if expected != found[part]:
                missing = [one for one in expected if one not in found[part]]
                strange = [one for one in found[part] if one not in expected]
                detail = f"run {number}, {part}: missing {missing}, not expected {strange}"
                return Verdict(question.scenario.id, by, detail)
    return Verdict(question.scenario.id, by, None)


def _expected(scenario: Scenario) -> dict[str, list[str]]:
    """Return final rows and dead letters of all steps, formatted and sorted, without early rows."""
    rows = [row for row in rows_of(scenario.expected) if row.get("pane") != "early"]
    dead = [letter for step in scenario.expected["steps"] for letter in step.get("dead", [])]
    return {"rows": sorted(map(spelled, rows)), "dead": sorted(map(spelled, dead))}


def _found(question: Asked, output: local.Output) -> dict[str, list[str]]:
    """Convert an engine's output to the format of scenarios."""
    spell = _pair if _is_join(question.scenario) else _row
    dead = [
        {
            "lane": question.lanes[f"{letter.source}/{letter.partition}"],
            "offset": letter.offset,
            "reason": letter.reason,
        }
        for letter in output.dead_letters
    ]
    rows = [spell(question, row) for row in output.rows]
    return {"rows": sorted(map(spelled, rows)), "dead": sorted(map(spelled, dead))}


def _row(question: Asked, row: Row) -> dict[str, Any]:
    value = row.values["value"]
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a median: the scenarios show a half as a half, a whole as a whole
    spelling: dict[str, Any] = {
        "window": [row.window_start_us, row.window_end_us],
        "key": row.key[0] if row.key else None,
        "pane": row.pane,
        "revision": row.revision,
        "records": row.records,
        "value": value,
        "offsets": {question.lanes[lane]: list(ends) for lane, ends in row.offsets.items()},
    }
    if row.retracts:
        spelling["op"] = "retract"
    if row.absorbed_by is not None:
        spelling |= {"tombstone": True, "absorbed_by": row.absorbed_by}
    return spelling


def _pair(question: Asked, row: Row) -> dict[str, Any]:
    *_, left, left_offset, right, right_offset = row.key
    sides = {}
    for side, lane, offset in (("left", left, left_offset), ("right", right, right_offset)):
        fields = {name: row.values[f"{side}_{name}"] for name in ("ts", "key", "value")}
        sides[side] = {"lane": question.lanes[str(lane)], "offset": offset, **fields}
    return sides


def _places(scenario: Scenario) -> dict[str, tuple[str, int]]:
    """Return topic and partition of each lane, in canonical order for several sources."""
    sides: dict[str, list[tuple[str, int]]] = {}
    for lane in scenario.config["lanes"]:
        source, _, partition = lane["lane"].rpartition("/")
        sides.setdefault(lane.get("side", "s"), []).append((source, int(partition)))
    return {
        f"{source}/{partition}": (topic, number)
        for topic, lanes in sides.items()
        for number, (source, partition) in enumerate(sorted(lanes))
    }


def _source(scenario: Scenario, topic: str) -> dict[str, Any]:
    slack = scenario.config.get("slack", 0)
    return {
        "topic": topic,
        "partitions": sum(place[0] == topic for place in _places(scenario).values()),
        "format": "json",
        "event_time": {"field": "ts", "unit": "us"},
        "fields": {**_FIELDS, "ts": "int"} if _is_join(scenario) else _FIELDS,
        "disorder": "punctuation" if slack is None else {"slack": f"{slack} us"},
    }


def _late(scenario: Scenario) -> dict[str, Any]:
    """Return `late` and `retention` for a pipeline file."""
    late = scenario.config.get("late", {})
    given = scenario.config.get("retention") or {}
    if late.get("policy", "update") != "update":
        seen = {"retention": f"{given['time']} us"} if "time" in given else {}
        return {"late": {"policy": late["policy"]}, **(seen if _is_join(scenario) else {})}
    time = f"{given['time']} us" if "time" in given else _FOR_EVER
    retention = {"time": time, **({"windows": given["windows"]} if "windows" in given else {})}
    every = f"{late.get('every', _DEFAULT_EVERY_US)} us"
    return {"late": {"policy": "update", "every": every}, "retention": retention}


def _query(scenario: Scenario) -> dict[str, Any]:
    """Return a pipeline with one query."""
    config, window = scenario.config, scenario.config["window"]
    by_row = window["unit"] == "rows"
    late = _late(scenario)
    if by_row and window.get("order", "log") == "log":
        late = {}  # nothing is late
    function = config["aggregate"]
    query = {
        "window": _session(window) if scenario.operator == "session" else _window(window),
        "group_by": ["key"] if config.get("group", True) else [],
        "aggregates": {"value": function if function == "count" else f"{function}(value)"},
        **{name: config[name] for name in ("accumulation",) if name in config},
    }
    return {
        "name": "scenario",
        "source": _source(scenario, "s"),
        **late,
        "shards": 2,
        "queries": {"scenario": query},
    }


def _window(window: Mapping[str, Any]) -> str:
    size, step = window["size"], window["step"]
    if window["unit"] == "rows":
        order = window.get("order", "log")
        return f"RANGE {size} rows SLIDE {step} rows WATTR row_num ORDER {order} ALIGN start"
    origin = window.get("origin", 0)
    return f"RANGE {size} us SLIDE {step} us WATTR ts ORIGIN {origin} us ALIGN start"


def _session(window: Mapping[str, Any]) -> str | dict[str, Any]:
    if window["unit"] == "rows":
        return f"SESSION {window['gap']} rows WATTR row_num"
    gaps = {key: f"{gap} us" for key, gap in window.get("gap_by_key", {}).items()}
    return {"session": f"{window['gap']} us", "wattr": "ts", **({"gaps": gaps} if gaps else {})}


def _join(scenario: Scenario) -> dict[str, Any]:
    """Return a pipeline that joins, whose rows contain both records."""
    sides = {}
    for side in ("left", "right"):
        window = scenario.config[side].get("window")
        length = {} if window is None else {"window": f"{window} us"}
        sides[side] = {"source": _source(scenario, side), **length}
    fields = [(side, name) for side in sides for name in ("ts", "key", "value")]
    equal = {"equal": ["key"]} if scenario.config.get("equality", True) else {}
    shown = {f"{side}_{name}": f"{side}.{name}" for side, name in fields}
    join = {**sides, **equal, "select": shown}
    return {"name": "scenario", "join": join, **_late(scenario), "shards": 2}


def _entries(scenario: Scenario, places: Mapping[str, tuple[str, int]]) -> Iterator[LogEntry]:
    """Return the records of all accepted calls; replays stay in their places."""
    counts_rows = scenario.config.get("window", {}).get("unit") == "rows"
    for step, found in zip(scenario.steps, scenario.expected["steps"], strict=True):
        if "error" in found:
            continue
        for record in step.get("records", [step["record"]] if "record" in step else []):
            topic, partition = places[record["lane"]]
            control = value = None
            if "bound" in record:
                control = _control(record["bound"], counts_rows=counts_rows)
            else:
                value = {name: record[name] for name in ("ts", "key", "value")}
            yield LogEntry(
                topic,
                partition,
                record["offset"],
                None if value is None else json.dumps(value).encode(),
                None if control is None else json.dumps(control).encode(),
            )


def _control(bound: int | str, *, counts_rows: bool) -> dict[str, Any]:
    """Return a control record as it is in a topic.

    The end of all lanes closes windows of rows that are not full, in a pipeline; in a scenario it
    is progress alone.
    """
    if bound != "inf":
        return {"bound": bound}
    return {"bound": _BEYOND} if counts_rows else {"end": True}
