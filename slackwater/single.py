"""Pipelines with one source, for commands that watch, change or replay one topic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from windowing.model import Pipeline


def load_single(file: Path) -> Pipeline:
    """Read a pipeline file with one source.

    Raises:
        PipelineError: the file breaks a rule.
        BadParameter: it is a join.
    """
    from windowing.model import load_pipeline

    pipeline = load_pipeline(file)
    if not pipeline.one_topic:
        topics = " and ".join(part.topic for part in pipeline.source.parts)
        msg = (
            f"{file} joins {topics}, and this command works on one topic: give it a pipeline that "
            "reads one of them"
        )
        raise typer.BadParameter(msg)
    return pipeline
