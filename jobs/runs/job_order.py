"""What a run's job is asked to do: its name at the cluster, its arguments, its private files."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.kafka_spelling import SECRETS_MARKER
from infra.monitoring_settings import LOCAL, parse_address, write_address
from infra.private import ENVIRONMENT_FILE, SECRETS_FOLDER, forget, write_private
from jobs.runs.attempts import read_attempts
from jobs.runs.folder import NOTE_FILE
from windowing.files.places import place

_OURS = "slackwater"


def job_name(pipeline: str, run: str) -> str:
    """Return the name of a run's job; names of pipelines and runs have no colon."""
    return f"{_OURS}:{pipeline}:{run}"


def run_of_job(job: str, pipeline: str) -> str | None:
    """Return the pipeline's run whose job has this name; None: it is another program's job."""
    return found[1] if (found := pipeline_and_run(job)) and found[0] == pipeline else None


def pipeline_and_run(job: str) -> tuple[str, str] | None:
    """Return pipeline and run of a job; None: it is not one of ours."""
    match job.split(":"):
        case [ours, pipeline, run] if ours == _OURS:
            return pipeline, run
    return None


@dataclass(frozen=True)
class JobOrder:
    """What a job is asked to do.

    Attributes:
        folder: the folder of the run's notes, on this machine.
        tables: the place of the pipeline's tables, if its sink has any.
        max_offsets: offsets per batch, at most, over all partitions; None: no limit.
        parallelism: number of tasks for lanes, and for shards; None: the session's default.
        first: per lane, where a new checkpoint starts; None: at the topic's beginning.
        end: per lane, the first offset to leave out; None: read everything.
        metrics: host and port of the endpoint for Prometheus, port 0 for a free one; None: none.
        targets: the folder in which Prometheus looks for endpoints; None: there is none.
        environment: a private file with variables for the job; None: there are none.
        kafka: settings of the Kafka cluster; None: it needs none.
    """

    file: Path
    run: str
    bootstrap: str
    folder: Path
    checkpoint: Path
    tables: Path
    max_offsets: int | None = None
    available_now: bool = False
    parallelism: int | None = None
    first: Mapping[int, int] | None = None
    end: Mapping[int, int] | None = None
    metrics: tuple[str, int] | None = LOCAL
    targets: Path | None = None
    environment: Path | None = None
    kafka: Path | None = None

    def arguments(self) -> list[str]:
        """Spell the order as arguments, for `parse_order`."""
        options = {
            "--run": self.run,
            "--bootstrap": self.bootstrap,
            "--folder": self.folder,
            "--checkpoint": self.checkpoint,
            "--table": self.tables,
            "--metrics": write_address(self.metrics),
            "--targets": self.targets,
            "--environment": self.environment,
            "--kafka": self.kafka,
            "--max-offsets": self.max_offsets,
            "--parallelism": self.parallelism,
            "--first": _spelled(self.first),
            "--end": _spelled(self.end),
        }
        given = [[name, str(value)] for name, value in options.items() if value is not None]
        ends = ["--available-now"] if self.available_now else []
        return [str(self.file), *(text for pair in given for text in pair), *ends]


def parse_order(arguments: Sequence[str], description: str = "") -> JobOrder:
    """Parse the arguments of a job's program; exit with a message if they are wrong.

    Args:
        arguments: without the program's name.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("file", metavar="pipeline", type=Path)
    for name in ("--run", "--bootstrap"):
        parser.add_argument(name, required=True)
    for name, kept in (("--checkpoint", "checkpoint"), ("--table", "tables")):
        parser.add_argument(name, dest=kept, required=True, type=_place)
    parser.add_argument("--folder", type=Path, help="of the run's notes; default: above checkpoint")
    parser.add_argument("--max-offsets", type=int)
    parser.add_argument("--available-now", action="store_true")
    parser.add_argument("--parallelism", type=int)
    for name in ("--first", "--end"):
        parser.add_argument(name, type=_offsets)
    parser.add_argument("--metrics", type=parse_address, default=LOCAL, help="host:port, or off")
    parser.add_argument("--targets", type=Path, help="a folder for Prometheus to find it")
    parser.add_argument("--environment", type=Path, help="private file")
    parser.add_argument("--kafka", type=Path, help="settings of the cluster")
    given = vars(parser.parse_args(arguments))
    return JobOrder(**{**given, "folder": given["folder"] or given["checkpoint"].parent})


def _spelled(offsets: Mapping[int, int] | None) -> str | None:
    return None if offsets is None else json.dumps(dict(offsets))


def _offsets(text: str) -> dict[int, int]:
    return {int(lane): int(offset) for lane, offset in json.loads(text).items()}


def _place(text: str) -> Path:
    """Return a checkpoint's or tables' place; other stores have no atomic rename."""
    try:
        return place(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def write_environment(folder: Path, variables: Mapping[str, str]) -> Path | None:
    """Write the variables of a run's drivers; return their file; None: there are none."""
    (folder / ENVIRONMENT_FILE).unlink(missing_ok=True)
    if not variables:
        return None
    return Path(write_private(folder / ENVIRONMENT_FILE, json.dumps(dict(variables))))


def read_environment(file: Path) -> dict[str, str]:
    """Return the variables that a driver is given; none if their file is gone."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        sys.stderr.write(f"{file} is gone: what it says of lineage and telemetry is not known\n")
        return {}
    return {name: str(value) for name, value in found.items()}


def forget_own(folder: Path) -> None:
    """Delete the secrets of a driver that ends for good, unless another driver has its run.

    Args:
        folder: the run's, or of a job that was started by hand: there, only what we made goes.
    """
    if read_attempts(folder).living is not None:
        return
    if (folder / NOTE_FILE).exists():
        forget(folder)
    elif (folder / SECRETS_FOLDER / SECRETS_MARKER).exists():
        shutil.rmtree(folder / SECRETS_FOLDER, ignore_errors=True)
