"""One YAML document into one frozen model, with every mistake by file, line, field and rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from windowing.spec.errors import PipelineError, Problem
from windowing.spec.problems import describe
from windowing.spec.yaml_lines import Path, load_with_lines

Model = TypeVar("Model", bound=BaseModel)


def parse_document(
    text: str,
    file: str,
    model: type[Model],
    *,
    shape: str,
    prepare: Callable[[dict[str, Any]], dict[str, Any]] = lambda value: value,
) -> tuple[Model, dict[Path, int]]:
    """Read a document.

    Args:
        text: the document.
        file: its name, for messages.
        model: what it must be.
        shape: what is said of a document that is no mapping at all.
        prepare: brings short spellings into the model's shape.

    Returns:
        the model, and the line (from 1) of each path into the document.

    Raises:
        PipelineError: with every problem that was found.
    """
    value, lines = load_with_lines(text, file)
    if not isinstance(value, dict):
        raise PipelineError([Problem(file, 1, "", shape)])
    try:
        return model.model_validate(prepare(value)), lines
    except ValidationError as error:
        raise PipelineError(describe(error, file, lines)) from None


def read_text(path: str | FilePath) -> str:
    """The text of a file.

    Raises:
        PipelineError: it is missing or unreadable.
    """
    try:
        return FilePath(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PipelineError([Problem(str(path), 0, "", f"cannot be read: {error}")]) from None
