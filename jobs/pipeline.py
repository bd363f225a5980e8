"""The job that Spark runs for a pipeline: from Kafka through lanes and shards to its tables.

Submitted by `jobs.runs` to the cluster's REST endpoint, under supervision: a driver that dies is
restarted and resumes from the checkpoint. If a restart cannot help, the reason is written to
`failure.json` in the run's folder, and the driver ends for good.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path

from pyspark.errors import AnalysisException, StreamingQueryException

from infra import kafka_settings
from infra.errors import InfraError
from infra.kafka_settings import settings_for
from jobs.brokers.broker import BrokerRefusal
from jobs.brokers.topics import TopicError
from jobs.checkpoints.checkpoint import examine, read_base
from jobs.checkpoints.conversion import change_queries, check_whole, resume_conversion
from jobs.checkpoints.identity import Identity
from jobs.checkpoints.partitions import REFUSED_BATCH, pending
from jobs.driver.failures import death_of, final_reason, windowing_error
from jobs.driver.kafka_failures import refusal
from jobs.driver.stream import Stream
from jobs.metrics.lineage import Subject
from jobs.metrics.observer import Place, observed
from jobs.overview.updater import Updater
from jobs.runs.attempts import Attempt, TooManyDeaths
from jobs.runs.folder import FAILURE_FILE, NOTE_FILE, read_run, write_whole
from jobs.runs.job_order import JobOrder, forget_own, job_name, parse_order, read_environment
from jobs.runs.owner import REFUSED_FILE, Owner
from jobs.session import session
from windowing.engine.changes import QueriesChanged, after_all
from windowing.files.places import is_remote
from windowing.model import Pipeline, PipelineError, load_pipeline
from windowing.model.control import ControlKeyError
from windowing.model.fates import before_windows, names
from windowing.model.file.yaml_lines import RUN_LIMITS
from windowing.model.registry import PluginError
from windowing.model.run_errors import SecondDriver, UndeclaredPartition, WindowingError
from windowing.model.user.user_aggregate import UserAggregateError
from windowing.model.user.user_operator import UserOperatorError

# A restart would meet these again.
_FINAL = (
    WindowingError,
    UserAggregateError,
    UserOperatorError,
    PluginError,
    TopicError,
    TooManyDeaths,
    PipelineError,
    AnalysisException,
    ImportError,
    InfraError,
    ControlKeyError,
    BrokerRefusal,
)


def run(order: JobOrder, attempt: Attempt) -> None:
    """Run the pipeline until it is stopped, or until the topic's end with `available_now`.

    Raises:
        SecondDriver: another driver has the run.
        CheckpointMismatch: a division of its state was interrupted.
        TokenMismatch: checkpoint, tables and topics do not belong together.
        TooManyDeaths: too many drivers before this one have died.
    """
    owner = Owner(order.folder)
    owner.claim()
    try:
        attempt.begin()
        _finish_change(order)
        check_whole(order.checkpoint)
        while change := _run_until_changed(order, owner, attempt):
            _convert(order, change)
        attempt.ended()
    finally:
        owner.release()


def _run_until_changed(order: JobOrder, owner: Owner, attempt: Attempt) -> QueriesChanged | None:
    """Run the pipeline until its log changes the queries; None: until its end."""
    pipeline = load_pipeline(order.file, RUN_LIMITS)
    examine(order.checkpoint)
    with (
        closing(Identity(order, pipeline, owner)) as identity,
        observed(_metrics_place(order, pipeline)) as metrics,
    ):
        again = identity.compare()
        stream = Stream(order, pipeline, identity, metrics)
        try:
            if again:
                identity.plan_again(stream.run_one)
            stream.mend()
            stream.run(attempt)
        except StreamingQueryException:
            if not stream.changes:
                raise
    return stream.changes[0] if stream.changes else None


def _finish_change(order: JobOrder) -> None:
    """Finish a change of the queries during which an earlier driver of the run died."""
    if (order.folder / NOTE_FILE).exists():
        resume_conversion(read_run(order.folder))


def _convert(order: JobOrder, change: QueriesChanged) -> None:
    run = read_run(order.folder)
    before = run.own_pipeline()
    after = after_all(before, change.taken)
    spark = session(job_name(before.name, order.run), parallelism=order.parallelism)
    change_queries(spark, run, after)
    texts = "; ".join(dict.fromkeys(one.text for one in change.taken))
    sys.stderr.write(f"run {order.run}: the log changes the queries: {texts}\n")


def _metrics_place(order: JobOrder, pipeline: Pipeline) -> Place:
    return Place(
        pipeline.name,
        order.run,
        order.folder,
        pipeline.source,
        address=order.metrics,
        targets=order.targets,
        first_batch=read_base(order.checkpoint).batch,
        subject=Subject(pipeline, order.run, order.bootstrap, order.tables),
        windows=pipeline,
        updater=_updater(order, pipeline),
    )


def _updater(order: JobOrder, pipeline: Pipeline) -> Updater | None:
    """Return what updates the counts of the run's Delta tables; None: its sink has others."""
    if not pipeline.destination.rules.in_folder:
        return None
    fates = names(before_windows(pipeline.source.fates))
    of_results = [*pipeline.tables]
    return Updater(order.folder, order.checkpoint, order.tables, order.run, of_results, fates)


def main(argv: list[str]) -> int:
    """Parse the arguments and run; return 0 also after a failure that a restart cannot fix."""
    order = parse_order(argv, __doc__ or "")
    if order.kafka is not None:
        kafka_settings.use(order.kafka)
    if order.environment is not None:
        os.environ.update(read_environment(order.environment))
    is_over = order.available_now  # such a driver is not started again, whatever it dies of
    try:
        is_over = _run_to_its_end(order)
    finally:
        if is_over:
            forget_own(order.folder)
    return 0


def _run_to_its_end(order: JobOrder) -> bool:
    """Run; return whether the run is over, with or without a failure; false: another has it."""
    attempt = Attempt(order.folder)
    try:
        run(order, attempt)
    except StreamingQueryException as error:
        if isinstance(second := windowing_error(str(error)), SecondDriver):
            attempt.ended()
            _step_back(order, second)
            return False
        reason = final_reason(str(error), _written(order)) or _refusal(order, str(error))
        _die(order, attempt, error, reason)
    except SecondDriver as error:
        _step_back(order, error)
        return False
    except _FINAL as error:
        attempt.ended()
        _give_up(order, str(error), "")
    except Exception as error:
        _die(order, attempt, error)
    return True


def _die(order: JobOrder, attempt: Attempt, error: Exception, reason: str | None = None) -> None:
    if reason is None:
        reason = attempt.died(death_of(error))
    if reason is None:
        raise error
    attempt.ended()
    _give_up(order, reason, str(error))


def _refusal(order: JobOrder, text: str) -> str | None:
    topics = [part.topic for part in load_pipeline(order.file, RUN_LIMITS).source.parts]
    return refusal(text, settings_for(order.bootstrap), topics)


def _written(order: JobOrder) -> list[Path]:
    """List the folders on this machine that the job writes to, if it has any."""
    both = (order.checkpoint, order.tables)
    return [where for where in both if not is_remote(where) and where.exists()]


def _give_up(order: JobOrder, reason: str, trace: str) -> None:
    """Write the reason to the run's folder, for `progress` and others."""
    failure = order.folder / FAILURE_FILE
    said: dict[str, object] = {"error": reason}
    if isinstance(windowing_error(trace), UndeclaredPartition):
        said[REFUSED_BATCH] = pending(order.checkpoint)
    write_whole(failure, said)
    sys.stderr.write(f"{trace}\na restart cannot mend this: {reason}\n")


def _step_back(order: JobOrder, error: SecondDriver) -> None:
    """End this driver and leave the run to its owner; the run has not failed."""
    write_whole(order.folder / REFUSED_FILE, {"error": str(error)})
    sys.stderr.write(f"{error}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
