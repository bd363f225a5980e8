"""A pipeline's queries on Spark's own `window()` and watermark, for comparison with our runtime.

Spark drops a row if the watermark has passed its window's end, and the watermark moves only between
batches: whether a row is dropped depends on where the log was cut. This shows the effect on the
same log, in the same batches, with Spark's default settings.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everyone knows

from jobs.file_run import finish, one_file_a_batch
from windowing.engine.reading.pack import RawRows
from windowing.engine.wids import bounds_of
from windowing.model import Pipeline, Query
from windowing.model.progress import Slack
from windowing.model.rows import Row
from windowing.model.run_errors import WindowingError
from windowing.model.windows.sliding import Sliding
from windowing.runtime.local import Output

_STATE = "spark.sql.streaming.stateStore"
_SHIPPED = {
    f"{_STATE}.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    ),
    f"{_STATE}.checkpointFormatVersion": "1",
    # A final batch without data emits the windows that the last rows closed.
    "spark.sql.streaming.noDataMicroBatches.enabled": "true",
}
_TYPES = {"int": "long", "float": "double", "string": "string", "bool": "boolean", "date": "date"}
_INSTANTS: dict[str, Callable[[str], Column]] = {
    "us": F.timestamp_micros,
    "ms": F.timestamp_millis,
    "s": F.timestamp_seconds,
    "iso": F.to_timestamp,
}
_FUNCTIONS: dict[str, Callable[[str], Column]] = {
    "sum": F.sum,
    "mean": F.avg,
    "min": F.min,
    "max": F.max,
}


def run(
    pipeline: Pipeline, batches: Iterable[Mapping[int, RawRows]], spark: SparkSession
) -> Output:
    """Compute a pipeline's windows with Spark's `window()`.

    The watermark's delay is the pipeline's slack. Late rows are dropped, as Spark does; there are
    no revisions, offsets or dead letters. Windows still open at the end of the log are not emitted.

    Args:
        pipeline: sliding or tumbling windows over event time, with a slack in time.
        batches: one micro-batch each: rows per partition, all of which the pipeline must accept.
        spark: a session; its settings are kept.

    Raises:
        WindowingError: Spark's `window()` cannot express a query.
    """
    queries = pipeline.of(Query)
    if len(queries) < len(pipeline.flows):
        why = "it has operators" if pipeline.one_topic else "it is a join"
        msg = f"pipeline {pipeline.name!r} cannot be said with Spark's window(): {why}"
        raise WindowingError(msg)
    if pipeline.source.computations or pipeline.source.metadata:
        msg = f"pipeline {pipeline.name!r} has expressions, which Spark's window() is not given"
        raise WindowingError(msg)
    session = spark.newSession()
    for name, value in _SHIPPED.items():
        session.conf.set(name, value)
    output, cut = Output(), list(batches)
    for query in queries:
        with tempfile.TemporaryDirectory(prefix="slackwater-builtin-") as folder:
            raw = one_file_a_batch(session, cut, Path(folder))

            def keep(batch: DataFrame, _: int, query: Query = query) -> None:
                output.rows.extend(_rows(query, batch))

            finish(_windowed(pipeline, query, raw), keep, Path(folder))
    return output


def _windowed(pipeline: Pipeline, query: Query, raw: DataFrame) -> DataFrame:
    source, window = pipeline.source, query.window
    if (
        not isinstance(source.disorder, Slack)
        or not isinstance(window, Sliding)
        or window.align == "start"
        or window.attribute != source.event_time.field
        or window.slide > window.range_
    ):
        msg = (
            f"query {query.name!r} cannot be said with Spark's window(): it needs a window over "
            f"{source.event_time.field} that is no shorter than its slide, and disorder: {{slack: "
            "TIME}"
        )
        raise WindowingError(msg)
    spelling = source.event_time.spelling
    if spelling.name not in _INSTANTS or spelling.fraction:
        msg = (
            f"query {query.name!r} cannot be said with Spark's window(): of units, only "
            f"{', '.join(_INSTANTS)} are compared, without fractions; given {spelling.rule}"
        )
        raise WindowingError(msg)
    types = {source.event_time.field: "string" if spelling.is_text else "long"}
    for name, type_ in source.fields.items():
        if type_.kind not in _TYPES:
            msg = f"{name} is {type_}, which is not compared with Spark's window()"
            raise WindowingError(msg)
        types[name] = _TYPES[type_.kind]
    schema = ", ".join(f"`{name}` {type_}" for name, type_ in types.items())
    value = F.from_json(F.col("value").cast("string"), schema)
    instant = _INSTANTS[spelling.name](f"value.{source.event_time.field}")
    rows = raw.select(value.alias("value")).select(instant.alias("at"), "value.*")
    shift_us = (window.origin - window.range_) % window.slide
    lengths_us = (window.range_, window.slide, shift_us)
    extent = F.window("at", *(f"{us} microseconds" for us in lengths_us))
    computed = [F.count("*").alias("records")]
    for aggregate in query.aggregates:
        function = F.count("*")
        if aggregate.field is not None:
            if aggregate.function not in _FUNCTIONS:
                msg = (
                    f"query {query.name!r} cannot be said with Spark's window(): of aggregates, "
                    f"only count, {', '.join(_FUNCTIONS)} are compared; given {aggregate.function}"
                )
                raise WindowingError(msg)
            function = _FUNCTIONS[aggregate.function](aggregate.field)
        computed.append(function.alias(f"value {aggregate.name}"))
    return (
        rows.withWatermark("at", f"{source.disorder.slack_us} microseconds")
        .groupBy(extent.alias("window"), *query.group_by)
        .agg(*computed)
        .withColumn("end_us", F.unix_micros("window.end"))
    )


def _rows(query: Query, batch: DataFrame) -> Iterator[Row]:
    for found in batch.collect():
        row: dict[str, Any] = found.asDict()
        wid = (row["end_us"] - query.window.origin) // query.window.slide - 1
        start_us, end_us = bounds_of(query.window, wid)
        yield Row(
            query=query.name,
            window_id=wid,
            window_start_us=start_us,
            window_end_us=end_us,
            key=tuple(row[field] for field in query.group_by),
            pane="full",
            revision=0,
            records=row["records"],
            offsets={},
            values={a.name: row[f"value {a.name}"] for a in query.aggregates},
        )
