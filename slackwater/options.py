"""Options that several commands have, and what they stand for: a run, a stack, a broker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slackwater.console import USAGE, complain, tell

if TYPE_CHECKING:
    from infra.endpoints import Endpoints
    from jobs.runs import Run
    from windowing.model import Pipeline

End = Annotated[bool, typer.Option("--end", help="End all lanes of the file after its last line.")]
As = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="TOPIC",
        help="The file has plain rows of this topic, as JSON lines or Parquet: one lane, offsets "
        "from 0.",
    ),
]
LogFile = Annotated[
    Path,
    typer.Option(
        "--input", metavar="EVENTS.jsonl", help="The log, one event per line; or see --as."
    ),
]
PipelineFile = Annotated[
    Path, typer.Argument(metavar="PIPELINE.yml", help="The pipeline file.", show_default=False)
]
Topic = Annotated[bool, typer.Option("--topic", help="Read the log from the pipeline's topic.")]
OptionalRun = Annotated[
    str | None,
    typer.Option("--run", metavar="NAME", help="The run; default: the live one, else the newest."),
]


class Engine(StrEnum):
    """Where a pipeline runs."""

    local = "local"
    spark = "spark"


def broker(bootstrap: str | None) -> str:
    """Return the broker: the given one, that of the Kafka settings, or the local stack's.

    Args:
        bootstrap: as given; Kafka settings apply to it too.
    """
    from infra import kafka_settings, stack

    if bootstrap is not None:
        return kafka_settings.use_addresses(bootstrap)
    return stack.endpoints(only=["kafka"]).kafka_bootstrap


def chosen(endpoints: Endpoints, file: Path, run: str | None) -> tuple[Run, Pipeline]:
    """Find the run, and the pipeline that it runs: its own copy of the file.

    Args:
        file: the pipeline file, for its name.
        run: the given name of a run.

    Raises:
        RunError: there is no such run.
    """
    from jobs.runs.choice import meant

    found = meant(endpoints, file, run)
    warn(endpoints, found, file)
    return found, found.own_pipeline()


def stack_for(file: Path, *parts: str) -> Endpoints:
    """Return the addresses of the running stack; check first that the file names a pipeline.

    Args:
        file: a pipeline file, which may have become invalid since a run was submitted with it.
        parts: parts of the stack that must be running.

    Raises:
        PipelineError: the file names no pipeline.
        NotReady: a part is not running.
    """
    from infra import stack
    from jobs.runs.choice import check_name_in

    check_name_in(file)
    return stack.endpoints(only=parts)


def what_is_up(said: Callable[[str], None] = tell) -> Endpoints:
    """Return the running parts of the stack; listing runs needs none of them.

    Args:
        said: called with a sentence on each part that does not run.
    """
    from infra import stack
    from infra.errors import InfraError

    found = stack.endpoints(only=[], check=False)
    parts: dict[str, dict[str, Any]] = {
        "kafka": {"kafka_bootstrap": ""},
        "spark": {"spark_master": "", "spark_rest": "", "spark_ui": ""},
    }
    for part, absent in parts.items():
        try:
            stack.endpoints(only=[part], check=False)
        except InfraError as error:
            said(str(error))
            found = replace(found, **absent)
    return found


def warn(endpoints: Endpoints, run: Run, file: Path) -> None:
    """Say in one line how the user's file differs from the run's own copy, if it does."""
    from jobs.runs.difference import file_differs

    differing = file_differs(endpoints, run, file)
    if differing:
        first, *more = [line for sentence in differing for line in sentence.splitlines()]
        others = f", and {len(more)} more (`slackwater runs {file}` lists all)" if more else ""
        tell(f"run {run.run} runs {run.file}; {file} differs now: {first}{others}")


def load_single(file: Path, *, windows: bool = False) -> Pipeline:
    """Read a pipeline file with one source, of one topic or several.

    Args:
        windows: a join is as good, if it has windows.

    Raises:
        PipelineError: the file breaks a rule.
        BadParameter: it is a join.
    """
    from windowing.model import load_pipeline
    from windowing.model.window_join import WindowJoinQuery

    pipeline = load_pipeline(file)
    if windows and pipeline.of(WindowJoinQuery):
        return pipeline
    if pipeline.join is not None:
        topics = " and ".join(part.topic for part in pipeline.source.parts)
        msg = (
            f"{file} joins {topics}, and this command works on one source: give it a pipeline "
            "that reads one of them"
        )
        raise typer.BadParameter(msg)
    return pipeline


def load_one_topic(file: Path) -> Pipeline:
    """Read a pipeline file whose source is one topic.

    Raises:
        PipelineError: the file breaks a rule.
        BadParameter: it reads several.
    """
    pipeline = load_single(file)
    if not pipeline.one_topic:
        topics = " and ".join(part.topic for part in pipeline.source.parts)
        msg = f"{file} reads {topics}, and this command works on a pipeline with one topic"
        raise typer.BadParameter(msg)
    return pipeline


def check_of_file(input_: Path | None, rows_of: str | None, *, end: bool) -> None:
    """Check that what is said of a file is said of one.

    Raises:
        BadParameter: the log is on a topic.
    """
    for option, given in (("--end", end), ("--as", rows_of is not None)):
        if given and input_ is None:
            msg = f"{option} is for --input FILE, as `run {option}` had it: a topic has its own"
            raise typer.BadParameter(msg)


def length_us(option: str, text: str, minimum_us: int = 0) -> int:
    """Return the length of time that an option gives, in microseconds.

    Raises:
        Exit: it is none, or too short.
    """
    from windowing.model.lengths import duration_us

    try:
        return duration_us(text, minimum_us=minimum_us)
    except ValueError as error:
        complain(f"{option}: {error}")
        raise typer.Exit(USAGE) from None
