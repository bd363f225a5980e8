"""Poison derived from a good record: for every pipeline, rejected for the expected reason."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from chaos.faults.poison import HUGE_BYTES, extremes, poisons
from windowing.model import Pipeline, load_pipeline, parse_pipeline
from windowing.semantics.values import Record, ValueReader

ROOT = Path(__file__).parents[4]
FLIGHT = {"sched_us": 1_357_034_400_000_000, "origin": "EWR", "carrier": "UA", "cancelled": 0}
NOW_US = time.time_ns() // 1_000
ISO = """\
name: p
source:
  {topic: s, partitions: 1, format: json, event_time: {field: at, unit: iso, max: "2100-01-01"},
   fields: {v: "float?"}, unknown_fields: ignore, disorder: ordered}
queries:
  q: {window: RANGE 1 hour SLIDE 1 hour WATTR at, aggregates: {n: count}}
"""


def reasons(pipeline: Pipeline, good: dict[str, object]) -> list[str]:
    reader = ValueReader(pipeline)
    assert isinstance(reader.read(json.dumps(good).encode(), None), Record)
    found = poisons(pipeline, good)
    assert [reader.read(one.value, NOW_US) for one in found] == [one.reason for one in found]
    return [one.reason for one in found]


def test_the_flights_are_poisoned_in_every_way() -> None:
    found = reasons(load_pipeline(ROOT / "pipelines" / "flight_delays.yml"), FLIGHT)
    assert found == [
        *["malformed"] * 3,
        "missing_event_time",
        "bad_event_time",
        *["time_out_of_range"] * 2,
        "time_ahead",
        "unknown_field",
        "null_key",
        "bad_type",
    ]


def test_a_pipeline_that_takes_nearly_everything_is_poisoned_with_the_rest() -> None:
    found = reasons(parse_pipeline(ISO), {"at": "2026-01-01T00:00:00Z", "v": 1})
    assert {"malformed", "bad_event_time", "time_out_of_range", "bad_type"} == set(found) - {
        "missing_event_time"
    }


@pytest.mark.parametrize("unit", ["us", "ms", "s"])
def test_without_limits_time_ends_where_64_bits_do(unit: str) -> None:
    text = ISO.replace('unit: iso, max: "2100-01-01"', f"unit: {unit}")
    assert "time_out_of_range" in reasons(parse_pipeline(text), {"at": 5, "v": None})


def test_the_extremes_are_large_and_refused() -> None:
    found = extremes(load_pipeline(ROOT / "pipelines" / "flight_delays.yml"), FLIGHT)
    assert max(len(one.value) for one in found) > HUGE_BYTES
    assert [one.reason for one in found][:3] == ["unknown_field", "malformed", "malformed"]
