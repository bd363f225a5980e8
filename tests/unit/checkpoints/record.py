"""Record what today's code leaves within a log: `python -m tests.unit.checkpoints.record`.

Run by hand, into the folder `states`, and never over another one: see the README beside this.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.unit.checkpoints import on_spark
from tests.unit.checkpoints.drawn import recordings
from tests.unit.checkpoints.recording import SUFFIX

STATES = Path(__file__).parent / "states"


def record(folder: Path) -> None:
    """Record every case into a folder that is not there yet, and one of them on Spark."""
    folder.mkdir()
    for name, recording in recordings():
        recording.write(folder / f"{name}{SUFFIX}")
        sys.stderr.write(f"{name}: {len(recording.rows)} rows sent\n")
    record_on_spark(folder)


def record_on_spark(folder: Path) -> None:
    """Record a checkpoint of Spark, with tables."""
    from jobs.file_run import own_session

    with own_session("slackwater recording") as spark, tempfile.TemporaryDirectory() as place:
        half, _ = on_spark.halves()
        output = on_spark.go_on(spark, Path(place), half, tables=True)
        on_spark.pack(Path(place), folder / on_spark.FILE)
    sys.stderr.write(f"on Spark: {len(output.rows)} rows sent\n")


if __name__ == "__main__":
    record(STATES)
