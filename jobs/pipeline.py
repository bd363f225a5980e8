"""The job that Spark runs for a pipeline: Kafka in, lanes and shards, the pipeline's tables out.

Submitted by `jobs.runs` to the cluster's REST endpoint, under supervision: a driver that dies
is started again and goes on from the checkpoint. What a restart cannot mend is written into the
run's folder as `failure.json`, and the driver ends for good.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everyone knows

from infra import kafka_settings
from infra.errors import InfraError
from infra.kafka_settings import settings_for
from infra.kafka_spelling import for_java
from jobs.checkpoint import examine
from jobs.failures import final_reason
from jobs.kafka_failures import refusal
from jobs.mend import mend
from jobs.orphan import LOOK_S, Orphan, executors
from jobs.producing import CONTROL_HEADER
from jobs.runs import FAILURE_FILE, SECRETS_FOLDER, application_name
from jobs.session import PARALLELISM, session
from windowing.errors import CheckpointDamaged
from windowing.spark.plan import emissions
from windowing.spark.sinks import PostgresSink, TableSink
from windowing.spec import Pipeline, load_pipeline
from windowing.spec.source import Source

_LOG_APPEND_TIME = 1


def kafka_rows(
    spark: SparkSession,
    pipeline: Pipeline,
    bootstrap: str,
    max_offsets: int | None,
    *,
    first: Mapping[int, int] | None = None,
    end: Mapping[int, int] | None = None,
    secrets: Path,
) -> DataFrame:
    """The topic as a stream of raw rows.

    Args:
        spark: the session.
        pipeline: whose source is read, from its beginning unless a checkpoint says otherwise.
        bootstrap: of the broker.
        max_offsets: offsets per batch at the most, over all partitions; None for no limit.
        first: per lane, by its number, where to begin; None: at the topic's beginning.
        end: per lane, the first offset to be left out; None: all is read.
        secrets: a folder that driver and executors see, for what a login needs.
    """
    client = for_java(settings_for(bootstrap), secrets)
    reader = (
        spark.readStream.format("kafka")
        .options(**{f"kafka.{name}": value for name, value in client.items()})
        .option("subscribe", ",".join(part.topic for part in pipeline.source.parts))
        .option("startingOffsets", _starting(pipeline.source, first))
        .option("includeHeaders", "true")
        .option("kafka.isolation.level", "read_committed")
        # A record that retention took before we read it is an error, never a silent gap.
        .option("failOnDataLoss", "true")
    )
    if max_offsets is not None:
        reader = reader.option("maxOffsetsPerTrigger", max_offsets)
    control = F.filter("headers", lambda header: header["key"] == CONTROL_HEADER)
    rows = reader.load().withColumn("partition", _lane(pipeline.source))
    if end is not None:
        # A stream has no end of its own; what lies behind it is read and left out.
        ends = F.create_map(*(F.lit(number) for pair in end.items() for number in pair))
        rows = rows.where(F.col("offset") < ends[F.col("partition")])
    return rows.select(
        "partition",
        "offset",
        "value",
        F.get(control, F.lit(0))["value"].alias("control"),
        # Only a time that the broker set is an append time; a producer's own clock is not.
        F.when(F.col("timestampType") == _LOG_APPEND_TIME, F.unix_micros("timestamp")).alias(
            "append_us"
        ),
    )


def _lane(source: Source) -> Column:
    """The number of the lane of a row of a topic."""
    number, before = F.col("partition"), 0
    for part in source.parts:
        ours = F.col("topic") == part.topic
        number = F.when(ours, F.col("partition") + before).otherwise(number)
        before += part.partitions
    return number


def _starting(source: Source, first: Mapping[int, int] | None) -> str:
    """Where to begin, as Spark spells it."""
    if first is None:
        return "earliest"
    begins: dict[str, dict[str, int]] = {}
    for lane, offset in first.items():
        part, partition = source.place(lane)
        begins.setdefault(part.topic, {})[str(partition)] = offset
    return json.dumps(begins)


def _offsets(text: str) -> dict[int, int]:
    return {int(lane): int(offset) for lane, offset in json.loads(text).items()}


def _sink(pipeline: Pipeline, args: argparse.Namespace) -> PostgresSink | TableSink:
    if pipeline.sink is not None and pipeline.sink.postgres is not None:
        return PostgresSink(pipeline, pipeline.sink.postgres, args.run)
    return TableSink(pipeline, Path(args.table), args.run)


def _folder(place: str) -> Path:
    """The folder of a checkpoint; a store without folders has no atomic rename either."""
    if "://" in place:
        msg = f"{place} is no folder that driver and executors share: see infra/cluster/README.md"
        raise argparse.ArgumentTypeError(msg)
    return Path(place)


def run(args: argparse.Namespace) -> None:
    """Run the pipeline until it is stopped, or until the topic's end with `--available-now`."""
    pipeline = load_pipeline(args.pipeline)
    checkpoint = args.checkpoint
    examine(checkpoint)
    spark = session(application_name(pipeline.name), parallelism=args.parallelism)
    sink = _sink(pipeline, args)
    raw = kafka_rows(
        spark,
        pipeline,
        args.bootstrap,
        args.max_offsets,
        first=args.first,
        end=args.end,
        secrets=checkpoint.parent / SECRETS_FOLDER,
    )
    writer = (
        emissions(raw, pipeline)
        .writeStream.queryName(pipeline.name)
        .foreachBatch(sink.write)
        .outputMode("append")
        .option("checkpointLocation", str(checkpoint))
    )
    for batch in mend(checkpoint, lambda: writer.trigger(once=True).start().awaitTermination()):
        sys.stderr.write(f"the commit of batch {batch} was lost: it was run again\n")
    trigger = {"availableNow": True} if args.available_now else {"processingTime": "1 second"}
    query, orphan = writer.trigger(**trigger).start(), Orphan(lambda: executors(spark))
    while not query.awaitTermination(LOOK_S):
        orphan.look()


def main(argv: list[str]) -> int:
    """Parse the arguments and run; 0 also after a failure that a restart cannot mend."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pipeline")
    for name in ("--run", "--bootstrap", "--table"):
        parser.add_argument(name, required=True)
    parser.add_argument("--checkpoint", required=True, type=_folder)
    parser.add_argument("--max-offsets", type=int)
    parser.add_argument("--available-now", action="store_true")
    parser.add_argument("--parallelism", type=int, default=PARALLELISM)
    for name in ("--first", "--end"):
        parser.add_argument(name, type=_offsets)
    parser.add_argument("--kafka", type=Path, help="settings of the cluster")
    args = parser.parse_args(argv)
    if args.kafka is not None:
        kafka_settings.use(args.kafka)
    try:
        run(args)
    except StreamingQueryException as error:
        reason = final_reason(str(error), _written(args))
        reason = reason or _refusal(args, str(error))
        if reason is None:
            raise
        _give_up(args, reason, str(error))
    except (CheckpointDamaged, InfraError) as error:
        _give_up(args, str(error), "")
    return 0


def _refusal(args: argparse.Namespace, text: str) -> str | None:
    topics = [part.topic for part in load_pipeline(args.pipeline).source.parts]
    return refusal(text, settings_for(args.bootstrap), topics)


def _written(args: argparse.Namespace) -> list[Path]:
    """The folders that the job writes to; tables are there only where the sink made some."""
    return [place for place in (args.checkpoint, Path(args.table)) if place.exists()]


def _give_up(args: argparse.Namespace, reason: str, trace: str) -> None:
    """Leave the reason where whoever asks for the run's progress finds it."""
    failure = args.checkpoint.parent / FAILURE_FILE
    failure.write_text(json.dumps({"error": reason}), encoding="utf-8")
    sys.stderr.write(f"{trace}\na restart cannot mend this: {reason}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
