"""Conversion to raw rows, from Spark's Kafka source or a table of records."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the customary name

from windowing.model.control import CONTROL_HEADER, COUNTER_HEADER, SIGNATURE_HEADER
from windowing.model.metadata import KEY, TIMESTAMP, header_of
from windowing.model.run_errors import BadRecords
from windowing.model.source import Source

_LOG_APPEND_TIME = 1

NEEDED = ("partition", "offset", "value")
"""What every record must have, wherever it is read."""


def raw_rows(records: DataFrame, source: Source) -> DataFrame:
    """Return records as raw rows, with partitions numbered as lanes.

    Args:
        records: `partition`, `offset`, `value` (text or bytes, in the source's format), and
            optionally `topic`, `headers` or `control`, `append_us` or `timestampType` and
            `timestamp`, as in Spark's Kafka source with `includeHeaders`; where the pipeline uses
            them, `key`, and `timestamp_us` or `timestamp`.
        source: defines the lanes; without a `topic`, all records are of its only one.

    Raises:
        BadRecords: a column is missing.
    """
    names = set(records.columns)
    if missing := [name for name in NEEDED if name not in names]:
        msg = (
            f"the records have no column {missing[0]!r} (they have {', '.join(records.columns)}): "
            "lanes are put in order by partition and offset, so give every record both"
        )
        raise BadRecords(msg)
    if "topic" not in names and len(source.parts) > 1:
        msg = "the records have no column 'topic', and the pipeline reads several: give it"
        raise BadRecords(msg)
    return records.select(
        (_lane(source) if "topic" in names else _lane_of_one(source)).alias("partition"),
        F.col("offset").cast("long").alias("offset"),
        F.col("value").cast("binary").alias("value"),
        _control(names, signed=any(part.control.key for part in source.parts)).alias("control"),
        _append_us(names).alias("append_us"),
        *(_metadata(name, names).alias(name) for name in source.carried),
    )


def _metadata(name: str, names: set[str]) -> Column:
    """Return what a record has besides its value, null where the table does not say."""
    if name == TIMESTAMP:
        if "timestamp_us" in names:
            return F.col("timestamp_us").cast("long")
        return F.unix_micros("timestamp") if "timestamp" in names else _null("long")
    if name == KEY:
        return F.col("key").cast("binary") if "key" in names else _null("binary")
    if "headers" not in names:
        return _null("binary")
    # The last of those with this name.
    keys = F.col("headers")["key"]
    at = F.size(keys) - F.array_position(F.reverse(keys), header_of(name)).cast("int")
    return F.get(F.col("headers")["value"], at)


def _control(names: set[str], *, signed: bool) -> Column:
    """Return the control of a record, null for a data record.

    A null or duplicate header becomes bytes that are not a valid control: a dead letter. With the
    headers of a signature it is spelled as `windowing.model.control.sealed` does.
    """
    if "headers" not in names:
        return F.col("control").cast("binary") if "control" in names else _null("binary")
    no_control, nul = F.encode(F.lit("null"), "UTF-8"), F.lit(b"\x00")
    body = _header(CONTROL_HEADER)
    made = F.substring(body, 1, 1) == nul
    one = F.when(body.isNull() | made, no_control).otherwise(body)
    if signed:
        parts = [nul]
        for name in (SIGNATURE_HEADER, COUNTER_HEADER):
            parts += [F.when(F.instr(_header(name), "\x00") == 0, _header(name)), nul]
        one = F.when(body.isNull() | made, one).otherwise(F.coalesce(F.concat(*parts, body), one))
    number = _number(CONTROL_HEADER)
    return F.when(number == 1, one).when(number > 1, no_control)


def _number(name: str) -> Column:
    # Without `filter`, which Spark does not compile, and with it nothing of the whole stage.
    keys = F.col("headers")["key"]
    return F.size(keys) - F.size(F.array_remove(keys, name))


def _header(name: str) -> Column:
    at = F.array_position(F.col("headers")["key"], name).cast("int") - 1
    return F.when(_number(name) == 1, F.get(F.col("headers")["value"], at))


def _append_us(names: set[str]) -> Column:
    """Return the append time, only if the broker set it, not a producer's clock."""
    if "timestampType" not in names:
        return F.col("append_us").cast("long") if "append_us" in names else _null("long")
    by_broker = F.col("timestampType") == _LOG_APPEND_TIME
    return F.when(by_broker, F.unix_micros("timestamp"))


def _null(type_: str) -> Column:
    return F.lit(None).cast(type_)


def _lane(source: Source) -> Column:
    """Return the lane number of a topic's row; an undeclared partition has a foreign number."""
    number = _null("int")
    for part in source.parts:
        number = F.when(F.col("topic") == part.topic, _lane_in(source, part.topic)).otherwise(
            number
        )
    return number


def _lane_of_one(source: Source) -> Column:
    return _lane_in(source, source.parts[0].topic)


def _lane_in(source: Source, topic: str) -> Column:
    partition, before = F.col("partition").cast("int"), 0
    for part in source.parts:
        if part.topic == topic:
            break
        before += part.founding
    times, plus = source.foreign(topic)
    declared = F.when(partition < part.founding, partition + before)
    for lane in part.joined:
        declared = declared.when(partition == lane.partition, F.lit(lane.number))
    return declared.otherwise(partition * times + plus)
