"""Parse a YAML document into a frozen model; mistakes have file, line, field and rule."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from windowing.model.errors import PipelineError, Problem
from windowing.model.file.problems import describe
from windowing.model.file.yaml_lines import LIMITS, Limits, Path, load_with_lines, too_large

Model = TypeVar("Model", bound=BaseModel)


def parse_document(
    text: str,
    file: str,
    model: type[Model],
    *,
    shape: str,
    prepare: Callable[[dict[str, Any]], dict[str, Any]] = lambda value: value,
    limits: Limits = LIMITS,
) -> tuple[Model, dict[Path, int]]:
    """Parse and validate a document.

    Args:
        text: the document.
        file: its name, for messages.
        model: the model to validate it against.
        shape: the message for a document that is not a mapping.
        prepare: expands short spellings into the model's shape.
        limits: how large it may be.

    Returns:
        the model, and the line (from 1) of each path into the document.

    Raises:
        PipelineError: with all problems found.
    """
    value, lines = load_with_lines(text, file, limits)
    if not isinstance(value, dict):
        raise PipelineError([Problem(file, 1, "", shape)])
    try:
        return model.model_validate(prepare(value)), lines
    except ValidationError as error:
        raise PipelineError(describe(error, file, lines)) from None


def read_text(path: str | FilePath, limits: Limits = LIMITS) -> str:
    """Read a document's file, up to the size limit.

    Raises:
        PipelineError: it is missing, unreadable, too large, or not UTF-8.
    """

    def problem(line: int, message: str) -> PipelineError:
        return PipelineError([Problem(str(path), line, "", message)])

    try:
        with FilePath(path).open("rb") as file:
            content = file.read(limits.bytes_max + 1)
            size = max(os.fstat(file.fileno()).st_size, len(content))
    except (OSError, ValueError) as error:  # ValueError: a name with NUL
        why = getattr(error, "strerror", None) or error
        raise problem(0, f"cannot be read: {why}") from None
    if len(content) > limits.bytes_max:
        raise problem(0, too_large(f"{size:,} bytes", limits)) from None
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        msg = f"is not UTF-8 (byte 0x{content[error.start]:02x}): save it as text in UTF-8"
        raise problem(line, msg) from None


def unread(path: FilePath, limits: Limits) -> str | None:
    """Say why a service does not read a file of a folder; None: it does.

    Reading a pipe would block for ever, and what a large file costs, all others wait for.
    """
    try:
        size = path.stat().st_size if path.is_file() else None
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    if size is None:
        return f"{path} is not a file: take it out of the folder"
    return f"{path} {too_large(f'{size:,} bytes', limits)}" if size > limits.bytes_max else None
