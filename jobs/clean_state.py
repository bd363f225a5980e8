"""The state of a run compared with a clean run of the same log, in one session.

The clean run reads the log from its beginning into its own checkpoint, in batches of another
size, in this process, and discards its rows: they are checked elsewhere. Prints one JSON object per
line, as `jobs.state` does, with `run`: `judged` or `clean`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from jobs.brokers.rows import kafka_rows
from jobs.checkpoints.stages import is_fused
from jobs.file_run import own_session
from jobs.runs import SECRETS_FOLDER
from jobs.state import as_json, read_state
from windowing.files.places import place
from windowing.model import Pipeline, load_pipeline
from windowing.model.run_errors import WindowingError
from windowing.spark.plan import emissions


def run_clean(
    spark: SparkSession,
    pipeline: Pipeline,
    bootstrap: str,
    ends: Mapping[int, int],
    *,
    max_offsets: int,
    checkpoint: Path,
    fused: bool,
) -> None:
    """Read a log from its beginning, for the state at its end.

    Args:
        spark: a session of our settings, with the jars of Spark's Kafka source.
        ends: per lane, the first offset to leave out.
        max_offsets: maximum number of offsets per batch.
        checkpoint: a folder that does not exist yet.
        fused: whether the judged run is.

    Raises:
        StreamingQueryException: the run failed.
    """
    secrets = checkpoint.with_name(f"{checkpoint.name}.{SECRETS_FOLDER}")
    try:
        raw = kafka_rows(spark, pipeline, bootstrap, max_offsets, end=ends, secrets=secrets)
        writer = (
            emissions(raw, pipeline, fused=fused).writeStream.format("noop").outputMode("append")
        )
        writer = writer.option("checkpointLocation", str(checkpoint))
        writer.trigger(availableNow=True).start().awaitTermination()
    finally:
        shutil.rmtree(secrets, ignore_errors=True)  # the login, beside what is kept


def main() -> int:
    """Run the log once more, and print both states."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pipeline", type=Path)
    parser.add_argument("--checkpoint", type=place, required=True, help="of the judged run")
    parser.add_argument("--batch", type=int, required=True, help="as of the end of which batch")
    parser.add_argument("--clean", type=Path, required=True, help="checkpoint of the clean run")
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--ends", type=json.loads, required=True)
    parser.add_argument("--max-offsets", type=int, required=True)
    parser.add_argument("--jars", required=True, help="of Spark's Kafka source")
    given = parser.parse_args()
    pipeline = load_pipeline(given.pipeline)
    ends = {int(lane): int(end) for lane, end in given.ends.items()}
    try:
        with own_session("slackwater clean state", jars=given.jars) as spark:
            size, clean = given.max_offsets, given.clean
            run_clean(
                spark,
                pipeline,
                given.bootstrap,
                ends,
                max_offsets=size,
                checkpoint=clean,
                fused=is_fused(given.checkpoint),
            )
            for run, where, batch in (
                ("judged", given.checkpoint, given.batch),
                ("clean", clean, None),
            ):
                for line in read_state(spark, where, pipeline, batch):
                    print(as_json({"run": run, **line}))  # noqa: T201 - this is what it is for
    except (WindowingError, StreamingQueryException) as error:
        print(json.dumps({"error": str(error)}))  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
