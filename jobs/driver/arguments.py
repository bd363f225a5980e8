"""The arguments of a driver, as `jobs.runs` spells them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from infra.metrics_address import DEFAULT, parsed
from jobs.runs.secrets import read_environment
from jobs.session import PARALLELISM
from windowing.files.places import place


def arguments(argv: Sequence[str], description: str) -> argparse.Namespace:
    """Parse the arguments.

    Args:
        argv: without the program's name.
        description: of the program.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("pipeline")
    for name in ("--run", "--bootstrap"):
        parser.add_argument(name, required=True)
    for name in ("--checkpoint", "--table"):
        parser.add_argument(name, required=True, type=_place)
    parser.add_argument("--folder", type=Path, help="of the run's notes; default: above checkpoint")
    parser.add_argument("--max-offsets", type=int)
    parser.add_argument("--available-now", action="store_true")
    parser.add_argument("--parallelism", type=int, default=PARALLELISM)
    for name in ("--first", "--end"):
        parser.add_argument(name, type=_offsets)
    parser.add_argument("--metrics", type=parsed, default=DEFAULT, help="host:port, or off")
    parser.add_argument("--targets", type=Path, help="a folder for Prometheus to find it")
    parser.add_argument("--environment", type=read_environment, default={}, help="private file")
    parser.add_argument("--kafka", type=Path, help="settings of the cluster")
    args = parser.parse_args(argv)
    args.folder = args.folder or args.checkpoint.parent
    return args


def _offsets(text: str) -> dict[int, int]:
    return {int(lane): int(offset) for lane, offset in json.loads(text).items()}


def _place(text: str) -> Path:
    """Return a checkpoint's or tables' place; other stores have no atomic rename."""
    try:
        return place(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
