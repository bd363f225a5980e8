"""What all kinds of cases share: files of them, drivers that compute them, verdicts.

A file has one JSON object per line. A driver knows an engine or the definition, and says of a case
whether all ways of computing it agree with what is expected, or why it cannot be run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from chaos.readers.bounded_lines import bounded_text

AnyCase = TypeVar("AnyCase")
Row = TypeVar("Row", bound=BaseModel)


class CaseError(ValueError):
    """A line that is not a case."""

    exit_code = 2


@dataclass(frozen=True)
class Verdict:
    """The verdict on one case.

    Attributes:
        judged_by: what computed the output.
        difference: description of the first difference; None: there is none.
    """

    case: str
    judged_by: str
    difference: str | None

    def line(self) -> str:
        """The verdict as one line of a report."""
        outcome = "pass" if self.difference is None else f"FAIL: {self.difference}"
        return f"{self.case}: {outcome} (by {self.judged_by})"


@dataclass(frozen=True)
class NotExpressible:
    """The answer of a driver that cannot express a case.

    Attributes:
        why: the reason, as short text.
    """

    why: str

    def line(self, case: str, driver: str) -> str:
        """The answer as one line of a report."""
        return f"{case}: not expressible: {self.why} (by {driver})"


@dataclass(frozen=True)
class Driver(Generic[AnyCase]):
    """An engine, or the definition, that can compute a case.

    Attributes:
        name: as in reports.
        run: computes a case in all ways that must agree; returns a verdict for each way, or for
            each profile under which the case holds.
    """

    name: str
    run: Callable[[AnyCase], Sequence[Verdict] | NotExpressible]


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
