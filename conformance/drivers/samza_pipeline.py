"""Convert scenarios of the window operator to pipelines, where a pipeline file can express them.

The log of a scenario consists of the records of its accepted calls. Only an operator has wall
clocks, refusing consumers, crashes, calls in between, and joins over row numbers.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import yaml

from conformance.cases import NotExpressible
from conformance.drivers.wid import LogEntry
from conformance.samza import Scenario
from windowing.model import Pipeline, PipelineError, parse_pipeline

_BEYOND = 2**62
_FOR_EVER = f"{_BEYOND} us"
_DEFAULT_EVERY_US = 10_000_000
_FIELDS = {"key": "string?", "value": "int?"}


@dataclass(frozen=True)
class AsPipeline:
    """A scenario as a pipeline and its log.

    Attributes:
        lanes: the scenario's name of each lane, by the lane's name in the pipeline.
        log: the records, in the order of the steps.
    """

    scenario: Scenario
    pipeline: Pipeline
    lanes: Mapping[str, str]
    log: tuple[LogEntry, ...]

    def once(self) -> AsPipeline:
        """Return the log without redeliveries, which Spark's source never makes."""
        kept = {(entry.source, entry.partition, entry.offset): entry for entry in self.log}
        return replace(self, log=tuple(kept.values()))

    def shuffled(self, seed: int) -> AsPipeline:
        """Return the log in another order of arrival that keeps the order of each lane."""
        turns = [(entry.source, entry.partition) for entry in self.log]
        random.Random(seed).shuffle(turns)
        waiting = {
            lane: iter([e for e in self.log if (e.source, e.partition) == lane])
            for lane in set(turns)
        }
        return replace(self, log=tuple(next(waiting[lane]) for lane in turns))


def as_pipeline(scenario: Scenario) -> AsPipeline | NotExpressible:
    """Convert a scenario to a pipeline, or return the feature that only an operator has."""
    why = _only_operator(scenario)
    if why is not None:
        return NotExpressible(why)
    places = _places(scenario)
    document = _join(scenario) if is_join(scenario) else _query(scenario)
    try:
        pipeline = parse_pipeline(yaml.safe_dump(document, sort_keys=False), scenario.id)
    except PipelineError as error:
        # An operator accepts more than a pipeline file, such as a length of zero.
        return NotExpressible(f"a pipeline file refuses it: {error.problems[0].message}")
    lanes = {f"{topic}/{partition}": lane for lane, (topic, partition) in places.items()}
    return AsPipeline(scenario, pipeline, lanes, tuple(_entries(scenario, places)))


def _only_operator(scenario: Scenario) -> str | None:
    """Return the feature of a scenario that only an operator has; None: there is none."""
    config = scenario.config
    clocks = (config.get("late", {}).get("clock"), config.get("emit", {}).get("clock"))
    return next(
        (
            why
            for why, found in (
                ("it encodes keys, and computes nothing", scenario.operator == "keys"),
                ("rows wait until they are fetched", scenario.standalone),
                (
                    "its consumer refuses rows, or it crashes between calls",
                    any(step.get("op") in ("refuse", "crash") for step in scenario.steps),
                ),
                ("it goes by the wall clock", "wall" in clocks),
                (
                    "windows of rows are sent with the row after them",
                    config.get("full") == "past_end",
                ),
                ("it joins by row numbers", config.get("axis") == "rows"),
                (
                    # The content since the last early row depends on the wall clock.
                    "accumulation counts from early rows",
                    config.get("early") is not None and "accumulation" in config,
                ),
                (
                    "values show the order of arrival, which in a pipeline is that of event time",
                    not is_join(scenario) and _by_row_order(scenario),
                ),
            )
            if found
        ),
        None,
    )


def is_join(scenario: Scenario) -> bool:
    """Whether the scenario is one of a join."""
    return scenario.operator == "join"


def _by_row_order(scenario: Scenario) -> bool:
    """Whether a value depends on arrival order; a pipeline's first and last go by event time."""
    window = scenario.config.get("window", {})
    in_log_order = window.get("unit") == "rows" and window.get("order", "log") == "log"
    return in_log_order and scenario.config["aggregate"] in ("first", "last", "collect")


def _places(scenario: Scenario) -> dict[str, tuple[str, int]]:
    """Return topic and partition of each lane; several sources are in canonical order."""
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
        "fields": {**_FIELDS, "ts": "int"} if is_join(scenario) else _FIELDS,
        "disorder": "punctuation" if slack is None else {"slack": f"{slack} us"},
    }


def _late(scenario: Scenario) -> dict[str, Any]:
    late = scenario.config.get("late", {})
    given = scenario.config.get("retention") or {}
    if late.get("policy", "update") != "update":
        seen = {"retention": f"{given['time']} us"} if "time" in given else {}
        return {"late": {"policy": late["policy"]}, **(seen if is_join(scenario) else {})}
    time = f"{given['time']} us" if "time" in given else _FOR_EVER
    retention = {"time": time, **({"windows": given["windows"]} if "windows" in given else {})}
    every = f"{late.get('every', _DEFAULT_EVERY_US)} us"
    return {"late": {"policy": "update", "every": every}, "retention": retention}


def _query(scenario: Scenario) -> dict[str, Any]:
    config, window = scenario.config, scenario.config["window"]
    by_row = window["unit"] == "rows"
    late = _late(scenario)
    if by_row and window.get("order", "log") == "log":
        # Nothing is late; how long windows are kept changes no row.
        late = {"retention": kept} if (kept := config.get("retention")) else {}
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
    """Return the records of all accepted calls, with replays where they occurred."""
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
    """Convert a control record to the format of a topic.

    In a pipeline, the end of all lanes closes windows of rows that are not full; in a scenario it
    only advances progress.
    """
    if bound != "inf":
        return {"bound": bound}
    return {"bound": _BEYOND} if counts_rows else {"end": True}
