"""Read files of cases, one JSON object per line; shared by all kinds of cases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from chaos.readers.bounded_lines import bounded_text
from conformance.wid.case import CaseError

Row = TypeVar("Row", bound=BaseModel)


def case_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the non-blank lines with their numbers, from 1.

    Raises:
        CaseError: the file cannot be read.
    """
    try:
        text = bounded_text(path)
    except (OSError, ValueError) as error:
        msg = f"{path} cannot be read: {error}"
        raise CaseError(msg) from None
    # Not splitlines: a JSON string may contain a Unicode line separator.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line


def read_rows(path: Path, kind: type[Row], refusal: str) -> Iterator[Row]:
    """Read a file whose lines are of one kind.

    Args:
        refusal: what is said of a line that is none, as `not a case`.

    Raises:
        CaseError: the file cannot be read, or a line is not of the kind; with its number.
    """
    for number, line in case_lines(path):
        try:
            yield kind.model_validate_json(line)
        except ValueError as error:
            msg = f"{path}:{number}: {refusal}: {first_of(error)}"
            raise CaseError(msg) from None


def first_of(error: Exception) -> str:
    """Return the first validation problem of a line, as short text."""
    if not isinstance(error, ValidationError):
        return " ".join(str(error).split())
    found = error.errors(include_url=False, include_input=False)
    place = ".".join(map(str, found[0]["loc"]))
    said = found[0]["msg"].removeprefix("Value error, ")
    more = f" (and {len(found) - 1} mistakes more)" if len(found) > 1 else ""
    return f"{place}: {said}{more}" if place else f"{said}{more}"
