"""What a job is asked to do, and how that is spelled as the arguments of its program."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.monitoring_settings import LOCAL, parse_address, write_address
from windowing.files.places import place


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
