"""Pipelines of one source, for commands that watch, change or repeat one topic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from windowing.spec import Pipeline


def load_single(file: Path) -> Pipeline:
    """Read a pipeline file whose pipeline has one source.

    Raises:
        PipelineError: the file breaks a rule.
        BadParameter: it is a join.
    """
    from windowing.spec import load_pipeline

    pipeline = load_pipeline(file)
    if pipeline.join is not None:
        topics = " and ".join(part.topic for part in pipeline.source.parts)
        msg = (
            f"{file} joins {topics}, and this command works on one topic: give it a pipeline that "
            "reads one of them"
        )
        raise typer.BadParameter(msg)
    return pipeline


def load_windows(file: Path) -> Pipeline:
    """Read a pipeline file whose windows are there before records are: one source, no sessions.

    Raises:
        PipelineError: the file breaks a rule.
        BadParameter: it is a join, or a query has sessions.
    """
    pipeline = load_single(file)
    for query in pipeline.queries:
        if query.window.kind == "session":
            msg = (
                f"{file}: query {query.name} has sessions, which lie where records lie, and this "
                "command is about windows: leave the query out of the file"
            )
            raise typer.BadParameter(msg)
    return pipeline
