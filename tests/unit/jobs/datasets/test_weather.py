"""Departures and weather as logs, and how the lanes of two topics are numbered."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from jobs.datasets import weather
from jobs.datasets.flights import events_jsonl
from jobs.runs import committed_offsets
from windowing.model import load_pipeline

PIPELINES = Path(__file__).parents[4] / "pipelines"


@pytest.fixture(scope="module")
def logs() -> dict[str, pl.DataFrame]:
    return weather.logs()


def test_all_records_are_there(logs: dict[str, pl.DataFrame]) -> None:
    assert {topic: log.height for topic, log in logs.items()} == {
        "departures": 336_776 + 3,
        "weather": 26_115 + 3,
    }
    without_plane = logs["departures"]["value"].str.contains('"tailnum":null', literal=True)
    assert without_plane.sum() == 2_512


def test_an_airport_has_one_weather_an_hour(logs: dict[str, pl.DataFrame]) -> None:
    """In UTC; in local time an hour of November stands twice."""
    records = logs["weather"].filter(pl.col("control").is_null())["value"]
    hours = [(value["origin"], value["time_hour"]) for value in map(json.loads, records)]
    assert len(set(hours)) == len(hours)


def test_offsets_are_dense_and_ends_come_last(logs: dict[str, pl.DataFrame]) -> None:
    for log in logs.values():
        for _, lane in log.group_by("partition", maintain_order=True):
            assert lane["offset"].to_list() == list(range(lane.height))
            assert lane["control"].is_not_null().to_list() == [False] * (lane.height - 1) + [True]


def test_a_shorter_log_has_the_weather_of_its_time(tmp_path: Path) -> None:
    few = weather.logs(100)
    last_us = few["departures"]["append_us"].max()
    weather_us = few["weather"].filter(pl.col("control").is_null())["append_us"]
    assert weather_us.max() < last_us  # type: ignore[operator]
    file = tmp_path / "events.jsonl"
    assert events_jsonl(file, weather.merged(few)) == sum(log.height for log in few.values())
    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert {event["source"] for event in events} == {"departures", "weather"}
    times = [event["append_us"] for event in events]
    assert times == sorted(times)


def test_lanes_of_two_topics_are_numbered_together(tmp_path: Path) -> None:
    source = load_pipeline(PIPELINES / "departures_weather.yml").source
    assert [source.lane(number) for number in range(6)] == [
        *(f"departures/{partition}" for partition in range(3)),
        *(f"weather/{partition}" for partition in range(3)),
    ]
    assert [source.number("weather", 1), source.number("weather", 3)] == [4, None]
    for folder, text in (
        ("commits", ""),
        ("offsets", '{}\n{"departures":{"0":7},"weather":{"0":9}}'),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "0").write_text(text)
    assert committed_offsets(tmp_path, source) == (1, {0: 7, 3: 9})
