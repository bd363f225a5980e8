"""Our own runtime, in this process, as a box."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby

from windowing.engine.reading.pack import RawRows
from windowing.model.file.pipeline import Pipeline, parse_pipeline
from windowing.research.engines.parameters import Domain, StreamTuple
from windowing.research.prober.experiments import Answer, Size
from windowing.runtime.local import LocalEngine

_PIPELINE = """
name: probe
source:
  topic: probe
  partitions: {partitions}
  format: json
  event_time: {{field: time, unit: s}}
  fields: {{number: int}}
  disorder: ordered
queries:
  windows:
    window: {window}
    aggregates: {{content: collect(number)}}
"""


class LocalWindows:
    """Lanes and shards in one process, fed batch by batch.

    Args:
        partitions: of the topic; tuples go to them in turn.
    """

    def __init__(self, partitions: int = 1) -> None:
        self._partitions = partitions

    def run(self, domain: Domain, asked: Size, stream: Sequence[StreamTuple]) -> Answer:
        """Run tuples through a new engine; rows of one batch are in the order of their windows."""
        engine = LocalEngine(self._pipeline(domain, asked))
        answers: list[list[list[int]]] = []
        for _, batch in groupby(stream, key=lambda one: one.batch):
            tuples = [*batch]
            answers += [[] for _ in tuples]
            seen = len(engine.output.rows)
            engine.feed(self._by_partition(tuples))
            rows = sorted(engine.output.rows[seen:], key=lambda row: row.window_id)
            answers[-1] += [_numbers(row.values["content"]) for row in rows]
        return answers

    def _pipeline(self, domain: Domain, asked: Size) -> Pipeline:
        unit, attribute = ("seconds", "time") if domain is Domain.time else ("rows", "row_num")
        window = f"RANGE {asked.size} {unit} SLIDE {asked.slide} {unit} WATTR {attribute}"
        return parse_pipeline(_PIPELINE.format(partitions=self._partitions, window=window))

    def _by_partition(self, tuples: Sequence[StreamTuple]) -> dict[int, RawRows]:
        found: dict[int, list[StreamTuple]] = {}
        for one in tuples:
            found.setdefault(one.number % self._partitions, []).append(one)
        return {partition: _rows(own) for partition, own in found.items()}


def _rows(tuples: Sequence[StreamTuple]) -> RawRows:
    nothing = [None] * len(tuples)
    values = [json.dumps({"time": one.time, "number": one.number}).encode() for one in tuples]
    return RawRows([one.number for one in tuples], values, nothing, nothing)


def _numbers(content: object) -> list[int]:
    assert isinstance(content, list)  # noqa: S101 - `collect` gives a list
    return sorted(content)
