"""Flights, departures and weather as logs: what is in them, and how their lanes are numbered."""

from __future__ import annotations

import hashlib
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from chaos.readers.log import LogRecord, read_events
from jobs.brokers.broker import BrokerError
from jobs.datasets import flights, weather
from jobs.datasets.flights import AIRPORTS, FlightsError, events_jsonl, publish
from jobs.datasets.poison import POISON
from jobs.runs import committed_offsets
from windowing.files.whole_files import WriteError
from windowing.model import load_pipeline

ROOT = Path(__file__).resolve().parents[3]
MINUTE_US = 60_000_000
# The whole log, as it was when its figures were checked: anything that changes it must be meant.
LOG_SHA256 = "bfed8d384d303c162f7bfdcb2c6267372fcc40e8fa6266658c5103ad6eff341e"


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    return flights.flights()


# --- the log ---------------------------------------------------------------------------------


def test_every_flight_is_there_once(log: pl.DataFrame) -> None:
    flown = log.filter(pl.col("sched_us").is_not_null())
    assert flown.height == 336_776
    assert dict(flown.group_by("partition").len().iter_rows()) == {
        0: 120_835,
        1: 111_279,
        2: 104_662,
    }
    origins = flown["value"].str.json_path_match("$.origin")
    assert (origins == flown["partition"].replace_strict(dict(enumerate(AIRPORTS)))).all()
    cancelled = flown["value"].str.json_path_match("$.cancelled").cast(pl.Int64)
    assert cancelled.sum() == 8_255


def test_disorder_within_the_partitions(log: pl.DataFrame) -> None:
    lag_us = (pl.col("sched_us").cum_max().shift(1) - pl.col("sched_us")).over("partition")
    lags = (
        log.filter(pl.col("sched_us").is_not_null())
        .select(lag_us.fill_null(0).clip(lower_bound=0))
        .to_series()
    )
    assert round((lags > 0).mean(), 2) == 0.43
    assert lags.quantile(0.90, "nearest") == 41 * MINUTE_US
    assert lags.quantile(0.99, "nearest") == 170 * MINUTE_US
    assert round(lags.max() / (60 * MINUTE_US), 1) == 21.5


def test_arrival_is_by_actual_departure_and_offsets_are_dense(log: pl.DataFrame) -> None:
    assert log["append_us"].is_sorted()
    for (partition,), lane in log.group_by("partition"):
        assert lane["offset"].to_list() == list(range(lane.height)), partition
        assert lane["control"].drop_nulls().to_list() == ['{"end":true}']
        assert lane["control"][-1] is not None


def test_scheduled_times_are_the_local_times_of_new_york() -> None:
    table = pl.read_csv(flights._csv(), null_values=["NA"], infer_schema_length=None)
    zone = ZoneInfo("America/New_York")
    local = ["year", "month", "day", "hour"]
    starts_us = {}
    for *parts, hour in table.select(*local, "time_hour").unique().iter_rows():
        first, second = (datetime(*parts, tzinfo=zone, fold=fold) for fold in (0, 1))
        assert first.utcoffset() == second.utcoffset(), "the hour is ambiguous"
        utc = datetime.strptime(hour, "%Y-%m-%dT%H:%M:%S%z")
        assert first.astimezone(UTC) == utc
        starts_us[hour] = int(utc.timestamp()) * 1_000_000
    hours = table["time_hour"].replace_strict(starts_us, return_dtype=pl.Int64)
    expected = hours + table["minute"] * 60_000_000
    assert expected.sort().to_list() == flights.departures()["sched_us"].sort().to_list()


def test_a_cancelled_flight_stands_at_its_scheduled_time() -> None:
    table = flights.departures()
    cancelled = table.filter(pl.col("cancelled") == 1)
    assert cancelled.height == 8_255
    assert (cancelled["actual_us"] == cancelled["sched_us"]).all()
    assert cancelled["dep_delay"].null_count() == 8_255
    flown = table.filter(pl.col("cancelled") == 0)
    delay_us = flown["actual_us"] - flown["sched_us"]
    assert (delay_us == flown["dep_delay"] * MINUTE_US).all()


def test_values_have_the_fields_that_the_pipeline_declares(log: pl.DataFrame) -> None:
    from windowing.model import load_pipeline

    source = load_pipeline(ROOT / "pipelines" / "flight_delays.yml").source
    declared = {*source.fields, source.event_time.field}
    assert (source.topic, source.partitions) == (flights.TOPIC, len(AIRPORTS))
    for text in log.filter(pl.col("sched_us").is_not_null())["value"].gather_every(101):
        value = json.loads(text)
        assert set(value) == declared
        assert json.dumps(value, separators=(",", ":")) == text


def test_the_log_never_changes(log: pl.DataFrame) -> None:
    digest = hashlib.sha256()
    for row in log.select("partition", "offset", "value", "control").iter_rows():
        digest.update(repr(row).encode())
    assert digest.hexdigest() == LOG_SHA256


# --- the poison ------------------------------------------------------------------------------


def expected_reason(text: str, append_us: int) -> str | None:
    """The rules for a bad value, as far as the poison needs them, written down once more."""
    try:
        value = json.loads(text)
        text.encode()
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError:
        return "malformed"
    if not isinstance(value, dict):
        return "malformed"
    ts = value.pop("sched_us", None)
    if type(ts) is not int:
        return "missing_event_time" if ts is None else "bad_event_time"
    if not 0 <= ts < 4_102_444_800_000_000:
        return "time_out_of_range"
    if ts > append_us + 400 * 86_400_000_000:
        return "time_ahead"
    types = {"origin": str, "carrier": str, "dep_delay": int, "arr_delay": int, "cancelled": int}
    if set(value) - set(types):
        return "unknown_field"
    if value["origin"] is None or value["carrier"] is None:
        return "null_key"
    right = (type(value[name]) in (kind, type(None)) for name, kind in types.items())
    return None if all(right) else "bad_type"


def test_ten_poison_records_each_bad_in_its_own_way(log: pl.DataFrame) -> None:
    rows = log.filter(pl.col("reason").is_not_null())
    assert rows.height == len(POISON) == 10
    assert rows["reason"].to_list() == [poison.reason for poison in POISON]
    assert set(rows["partition"]) == {0, 1, 2}
    assert len({poison.what for poison in POISON}) == 10
    assert set(rows["reason"]) == {
        "malformed",
        "missing_event_time",
        "bad_event_time",
        "time_out_of_range",
        "time_ahead",
        "unknown_field",
        "null_key",
        "bad_type",
    }
    now_us = time.time_ns() // 1000
    for text, append_us, reason in rows.select("value", "append_us", "reason").iter_rows():
        assert expected_reason(text, append_us) == reason
        assert expected_reason(text, now_us) == reason  # on a broker of today, too


def test_flights_are_good_records(log: pl.DataFrame) -> None:
    flown = log.filter(pl.col("sched_us").is_not_null()).gather_every(97)
    for text, append_us in flown.select("value", "append_us").iter_rows():
        assert expected_reason(text, append_us) is None


# --- as a file -------------------------------------------------------------------------------


def test_the_file_holds_the_log(tmp_path: Path, log: pl.DataFrame) -> None:
    file = tmp_path / "events.jsonl"
    assert events_jsonl(file, log) == log.height
    columns = ("partition", "offset", "value", "control", "append_us")
    records = read_events(file)
    for record, row in zip(records, log.select(columns).iter_rows(), strict=True):
        partition, offset, value, control, append_us = row
        assert record == LogRecord(
            flights.TOPIC,
            partition,
            offset,
            value.encode() if control is None else None,
            control and control.encode(),
            append_us,
        )
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_cannot_be_written(tmp_path: Path, log: pl.DataFrame) -> None:
    with pytest.raises(WriteError, match=r"events.jsonl: cannot be written: No such file"):
        events_jsonl(tmp_path / "nowhere" / "events.jsonl", log.head(1))


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flights, "_PACKAGE", "no-such-package")
    with pytest.raises(
        FlightsError, match=r"no-such-package .* is not installed: run `make setup`"
    ):
        flights.flights()


def test_a_dead_broker_is_one_sentence(dead_broker: str, log: pl.DataFrame) -> None:
    with pytest.raises(BrokerError, match=r"no Kafka broker answers on .*slackwater up"):
        publish(dead_broker, log=log.head(1))


PIPELINES = Path(__file__).parents[3] / "pipelines"


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
