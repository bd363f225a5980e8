"""What a control record costs that is refused, by kind: in milliseconds, and beside a data record.

The local engine takes a batch of each kind, for a pipeline of two queries and one of many; the
median of some rounds. Costs do not grow with the file, and hardly with a record.

    .venv/bin/python -m benchmarks.hostile
"""

from __future__ import annotations

import json
import statistics
import time
from typing import Any, Final

import typer

from chaos.readers.log import LogRecord
from windowing.engine.reading.batches import batches
from windowing.model import Pipeline, parse_pipeline
from windowing.runtime.local import LocalEngine

_RECORDS, _ROUNDS, _QUERIES = 200, 5, (2, 600)
_HEAD: Final = """
name: p
source: {topic: s, partitions: 1, format: json, event_time: {field: ts, unit: us},
  fields: {v: int}, disorder: {slack: 5 us}, control: RULE}
queries:
"""
_QUERY: Final = "  q{}: {{window: RANGE {} us SLIDE 10 us WATTR ts, aggregates: {{n: count}}}}\n"


def _added(**more: Any) -> dict[str, Any]:
    own = {"window": "RANGE 20 us SLIDE 10 us WATTR ts", "aggregates": {"n": "count"}, "from": 50}
    return {**own, **more}


def _adds(query: dict[str, Any], names: int = 1) -> Any:
    return {"queries": {"add": {f"new{number}": query for number in range(names)}}}


KINDS: Final[dict[str, tuple[str, Any]]] = {
    "a change, where none is believed": ("bounds", _adds(_added())),
    "2,000 queries": ("all", _adds(_added(), 2_000)),
    "a class of a module": ("all", _adds(_added(aggregates={"n": "python:os:system(v)"}))),
    "a million windows": ("all", _adds(_added(window="RANGE 1000000 us SLIDE 1 us WATTR ts"))),
    "an unknown key": ("all", _adds(_added(colour="red"))),
    "a name that is taken": ("all", {"queries": {"add": {"q0": _added()}}}),
    "the end of a query that is not there": ("all", {"queries": {"remove": {"nobody": 5}}}),
    "100 queries, the last one wrong": (
        "all",
        {"queries": {"add": {**_adds(_added(), 99)["queries"]["add"], "x": _added(colour=1)}}},
    ),
    "100 aggregates, the last one wrong": (
        "all",
        _adds(_added(aggregates={**{f"a{n}": "count" for n in range(99)}, "x": "sum(nothing)"})),
    ),
    "100 kB of brackets": ("all", {"queries": [[1] for _ in range(20_000)]}),
    "900 kB": ("all", {"bound": 1, "on": {"v": "x" * 900_000}}),
}


def milliseconds(pipeline: Pipeline, control: Any) -> float:
    """Return what a record of a batch costs."""
    body, found = json.dumps(control).encode(), []
    for _ in range(_ROUNDS):
        engine = LocalEngine(pipeline)
        records = [LogRecord("s", 0, at, None, body, None) for at in range(_RECORDS)]
        (batch,) = batches(records, _RECORDS)
        began = time.perf_counter()
        engine.feed(batch)
        found.append((time.perf_counter() - began) / _RECORDS * 1e3)
        assert len(engine.output.dead_letters) == _RECORDS  # noqa: S101 - else nothing was refused
    return statistics.median(found)


def main() -> None:
    """Measure, and print a table."""
    print("| a record | bytes | " + " | ".join(f"ms, {n} queries" for n in _QUERIES) + " |")
    print("|---|" + "---|" * (1 + len(_QUERIES)))
    for name, (rule, control) in KINDS.items():
        cells = []
        for many in _QUERIES:
            text = "".join(_QUERY.format(n, 10 * (n + 1)) for n in range(many))
            pipeline = parse_pipeline(_HEAD.replace("RULE", rule) + text)
            cells.append(f"{milliseconds(pipeline, control):.2f}")
        print(f"| {name} | {len(json.dumps(control)):,} | {' | '.join(cells)} |")


if __name__ == "__main__":
    typer.run(main)
