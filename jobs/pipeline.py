"""The job that Spark runs for a pipeline: from Kafka through lanes and shards to its tables.

Submitted by `jobs.runs` to the cluster's REST endpoint, under supervision: a driver that dies is
restarted and resumes from the checkpoint. If a restart cannot help, the reason is written to
`failure.json` in the run's folder, and the driver ends for good.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everyone knows
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from infra import kafka_settings
from infra.errors import InfraError
from infra.kafka_settings import settings_for
from infra.kafka_spelling import for_java
from infra.run_secrets import SECRETS_FOLDER
from jobs.brokers.broker import Refused
from jobs.brokers.topics import TopicError
from jobs.checkpoints.base import Base, read_base, seed_of
from jobs.checkpoints.checkpoint import examine
from jobs.checkpoints.conversion import change_queries, check_whole, resume_conversion
from jobs.checkpoints.identity import Identity
from jobs.checkpoints.mend import mend, newest
from jobs.checkpoints.partitions import REFUSED_BATCH, look, pending
from jobs.checkpoints.stages import decide_fused
from jobs.driver.arguments import arguments
from jobs.driver.failures import death_of, final_reason, windowing_error
from jobs.driver.kafka_failures import refusal
from jobs.driver.live import is_live
from jobs.driver.noting import noting
from jobs.driver.orphan import Orphan, executors
from jobs.metrics.lineage import Subject
from jobs.metrics.observer import Metrics, Place, observed
from jobs.overview.updater import Updater
from jobs.runs.attempts import Attempt, TooManyDeaths
from jobs.runs.folder import FAILURE_FILE, NOTE_FILE, read_run, write_whole
from jobs.runs.names import job_name
from jobs.runs.owner import REFUSED_FILE, Owner
from jobs.runs.secrets import forget_own
from jobs.session import session
from windowing.engine.changes import QueriesChanged, after_all
from windowing.files.places import is_remote
from windowing.model import Pipeline, PipelineError, load_pipeline
from windowing.model.control import ControlKeyError
from windowing.model.file.yaml_lines import RUN_LIMITS
from windowing.model.run_errors import SecondDriver, UndeclaredPartition, WindowingError
from windowing.model.source import Source
from windowing.model.user.user_aggregate import UserAggregateError
from windowing.spark.plan import emissions
from windowing.spark.sinks import RunPlace, Sink, sink_of
from windowing.spark.sinks.tokens import TokenOf
from windowing.spark.sources.raw import raw_rows
from windowing.spark.sources.reading import limit_batches
from windowing.spark.storage.seed import seed_rows

# A restart would meet these again.
_FINAL = (
    WindowingError,
    UserAggregateError,
    TopicError,
    TooManyDeaths,
    PipelineError,
    AnalysisException,
    ImportError,
    InfraError,
    ControlKeyError,
    Refused,
)

_LOOK_S = 1.0
"""How often to check the query, in seconds."""


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
    """Read the topic as a stream of raw rows.

    Args:
        spark: the session.
        pipeline: its source is read, from the beginning unless a checkpoint says otherwise.
        bootstrap: `host:port` of the broker.
        max_offsets: offsets per batch, at most, over all partitions; None: no limit.
        first: start offsets by lane number; None: the topic's beginning.
        end: per lane, the first offset to leave out; None: read everything.
        secrets: a folder visible to driver and executors, with the login's files.
    """
    client = for_java(settings_for(bootstrap), secrets)
    reader = (
        spark.readStream.format("kafka")
        .options(**{f"kafka.{name}": value for name, value in client.items()})
        .option("subscribe", ",".join(part.topic for part in pipeline.source.parts))
        .option("startingOffsets", _starting(pipeline.source, first))
        .option("includeHeaders", "true")
        .option("kafka.isolation.level", "read_committed")
        # A record that retention deleted before we read it is an error, never a silent gap.
        .option("failOnDataLoss", "true")
    )
    if max_offsets is not None:
        reader = reader.option("maxOffsetsPerTrigger", max_offsets)
    rows = raw_rows(reader.load(), pipeline.source)
    if end is None:
        return rows
    # A stream has no end of its own; records after the end are read and filtered out.
    ends = F.create_map(*(F.lit(number) for pair in end.items() for number in pair))
    # Records without a lane are not filtered out: they are an error in the lanes' stage.
    inside = F.col("offset") < ends[F.col("partition")]
    return rows.where((F.col("partition") < 0) | inside)


def _starting(source: Source, first: Mapping[int, int] | None) -> str:
    """Format the start offsets for Spark."""
    if first is None:
        return "earliest"
    begins: dict[str, dict[str, int]] = {}
    for lane, offset in first.items():
        part, partition = source.place(lane)
        begins.setdefault(part.topic, {})[str(partition)] = offset
    return json.dumps(begins)


def _sink(
    pipeline: Pipeline, args: argparse.Namespace, token_of: TokenOf, metrics: Metrics
) -> Sink:
    live = partial(is_live, args.folder)
    where = RunPlace(pipeline, args.run, args.table, token_of, live, metrics.written)
    return sink_of(pipeline).open(where)


def _metrics_place(args: argparse.Namespace, pipeline: Pipeline) -> Place:
    return Place(
        pipeline.name,
        args.run,
        args.folder,
        pipeline.source,
        address=args.metrics,
        targets=args.targets,
        first_batch=read_base(args.checkpoint).batch,
        subject=Subject(pipeline, args.run, args.bootstrap, args.table),
        windows=pipeline,
        updater=_updater(args, pipeline),
    )


def _updater(args: argparse.Namespace, pipeline: Pipeline) -> Updater | None:
    """Return what updates the counts of the run's Delta tables; None: its sink has others."""
    if not pipeline.destination.rules.in_folder:
        return None
    return Updater(args.folder, args.table, args.run, [*pipeline.tables])


def run(args: argparse.Namespace, attempt: Attempt) -> None:
    """Run the pipeline until it is stopped, or until the topic's end with `--available-now`.

    Raises:
        SecondDriver: another driver has the run.
        CheckpointMismatch: a division of its state was interrupted.
        TokenMismatch: checkpoint, tables and topic do not belong together.
        TooManyDeaths: too many drivers before this one have died.
    """
    owner = Owner(args.folder)
    owner.claim()
    try:
        attempt.begin()
        _finish_change(args)
        check_whole(args.checkpoint)
        while change := _run_until_changed(args, owner, attempt):
            _go_on(args, change)
        attempt.ended()
    finally:
        owner.release()


def _run_until_changed(
    args: argparse.Namespace, owner: Owner, attempt: Attempt
) -> QueriesChanged | None:
    """Run the pipeline until its log changes the queries; None: until its end."""
    pipeline = load_pipeline(args.pipeline, RUN_LIMITS)
    examine(args.checkpoint)
    changes: list[QueriesChanged] = []
    with (
        closing(
            Identity(
                pipeline,
                args.run,
                checkpoint=args.checkpoint,
                tables=args.table,
                bootstrap=args.bootstrap,
                owner=owner,
            )
        ) as identity,
        observed(_metrics_place(args, pipeline)) as metrics,
    ):
        try:
            _run(args, pipeline, identity, attempt, metrics, changes=changes)
        except StreamingQueryException:
            if not changes:
                raise
    return changes[0] if changes else None


def _finish_change(args: argparse.Namespace) -> None:
    """Finish a change of the queries during which an earlier driver of the run died."""
    if (args.folder / NOTE_FILE).exists():
        resume_conversion(read_run(args.folder))


def _go_on(args: argparse.Namespace, change: QueriesChanged) -> None:
    """Convert the run's state, for the queries that its next batch needs."""
    run = read_run(args.folder)
    before = run.own_pipeline()
    after = after_all(before, change.taken)
    spark = session(job_name(before.name, args.run), parallelism=args.parallelism)
    change_queries(spark, run, after)
    texts = "; ".join(dict.fromkeys(one.text for one in change.taken))
    sys.stderr.write(f"run {args.run}: the log changes the queries: {texts}\n")


def _run(
    args: argparse.Namespace,
    pipeline: Pipeline,
    identity: Identity,
    attempt: Attempt,
    metrics: Metrics,
    *,
    changes: list[QueriesChanged],
) -> None:
    checkpoint, again = args.checkpoint, identity.compare()
    base = read_base(checkpoint)
    spark = session(job_name(pipeline.name, args.run), parallelism=args.parallelism)
    limit_batches(spark, identity.record_bytes_max)
    sink = _sink(pipeline, args, identity.token_of, metrics)
    raw = kafka_rows(
        spark,
        pipeline,
        args.bootstrap,
        args.max_offsets,
        first=_first(base, pipeline.source) or args.first,
        end=args.end,
        secrets=args.folder / SECRETS_FOLDER,
    )
    fused = decide_fused(checkpoint, pipeline)
    is_new = newest(checkpoint / "commits") < 0
    seed = seed_rows(spark, seed_of(checkpoint)) if base.batch and is_new else None
    emitted = emissions(raw, pipeline, fused=fused, seed=seed)
    stream = emitted.writeStream.queryName(pipeline.name).outputMode("append")
    stream = stream.option("checkpointLocation", str(checkpoint))
    if again:
        identity.plan_again(lambda write: _one_batch(stream, write))
    write = noting(_counted(sink, base), changes)
    for batch in mend(checkpoint, lambda: _one_batch(stream, write)):
        sys.stderr.write(f"batch {base.batch + batch} was run again, as it was planned\n")
    trigger = {"availableNow": True} if args.available_now else {"processingTime": "1 second"}
    query = stream.foreachBatch(write).trigger(**trigger).start()
    orphan, before = Orphan(lambda: executors(spark)), newest(checkpoint / "commits")
    try:
        while not query.awaitTermination(_LOOK_S):
            look(query.lastProgress, pipeline.source)
            metrics.look(query)
            orphan.look()
            if newest(checkpoint / "commits") > before or _has_nothing_to_do(query):
                attempt.is_well()
        look(query.lastProgress, pipeline.source)
        metrics.look(query)
    except UndeclaredPartition:
        query.stop()
        if pending(checkpoint) is not None:
            # So that it is known what was emitted before the partition joins.
            _one_batch(stream, write)
        raise


def _first(base: Base, source: Source) -> dict[int, int]:
    """Return the offset that a checkpoint with a base begins with, by lane number."""
    places = ((*lane.rpartition("/")[::2], offset) for lane, offset in base.ends.items())
    numbered = {source.number(topic, int(at)): offset for topic, at, offset in places}
    return {number: offset for number, offset in numbered.items() if number is not None}


def _counted(sink: Sink, base: Base) -> Callable[[DataFrame, int], None]:
    """Return the sink's way to take a batch, under the run's number of it."""
    return lambda batch, number: sink.write(batch, base.batch + number)


def _has_nothing_to_do(query: StreamingQuery) -> bool:
    """Whether a query has checked its source and is waiting for more."""
    told = query.status
    return str(told["message"]).startswith("Waiting for") and not told["isTriggerActive"]


def _one_batch(stream: DataStreamWriter, write: Callable[[DataFrame, int], None]) -> None:
    stream.foreachBatch(write).trigger(once=True).start().awaitTermination()


def main(argv: list[str]) -> int:
    """Parse the arguments and run; return 0 also after a failure that a restart cannot fix."""
    args = arguments(argv, __doc__ or "")
    if args.kafka is not None:
        kafka_settings.use(args.kafka)
    os.environ.update(args.environment)
    is_over = args.available_now  # such a driver is not started again, whatever it dies of
    try:
        is_over = _run_to_its_end(args)
    finally:
        if is_over:
            forget_own(args.folder)
    return 0


def _run_to_its_end(args: argparse.Namespace) -> bool:
    """Run; return whether the run is over, with or without a failure; false: another has it."""
    attempt = Attempt(args.folder)
    try:
        run(args, attempt)
    except StreamingQueryException as error:
        if isinstance(second := windowing_error(str(error)), SecondDriver):
            attempt.ended()
            _step_back(args, second)
            return False
        reason = final_reason(str(error), _written(args)) or _refusal(args, str(error))
        _die(args, attempt, error, reason)
    except SecondDriver as error:
        _step_back(args, error)
        return False
    except _FINAL as error:
        attempt.ended()
        _give_up(args, str(error), "")
    except Exception as error:
        _die(args, attempt, error)
    return True


def _die(
    args: argparse.Namespace, attempt: Attempt, error: Exception, reason: str | None = None
) -> None:
    """Give up if there is a reason, or after too many deaths; else raise the error."""
    if reason is None:
        reason = attempt.died(death_of(error))
    if reason is None:
        raise error
    attempt.ended()
    _give_up(args, reason, str(error))


def _refusal(args: argparse.Namespace, text: str) -> str | None:
    topics = [part.topic for part in load_pipeline(args.pipeline, RUN_LIMITS).source.parts]
    return refusal(text, settings_for(args.bootstrap), topics)


def _written(args: argparse.Namespace) -> list[Path]:
    """List the folders on this machine that the job writes to, if it has any."""
    both = (args.checkpoint, args.table)
    return [where for where in both if not is_remote(where) and where.exists()]


def _give_up(args: argparse.Namespace, reason: str, trace: str) -> None:
    """Write the reason to the run's folder, for `progress` and others."""
    failure = args.folder / FAILURE_FILE
    said: dict[str, object] = {"error": reason}
    if isinstance(windowing_error(trace), UndeclaredPartition):
        said[REFUSED_BATCH] = pending(args.checkpoint)
    write_whole(failure, said)
    sys.stderr.write(f"{trace}\na restart cannot mend this: {reason}\n")


def _step_back(args: argparse.Namespace, error: SecondDriver) -> None:
    """End this driver and leave the run to its owner; the run has not failed."""
    write_whole(args.folder / REFUSED_FILE, {"error": str(error)})
    sys.stderr.write(f"{error}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
