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

from chaos.readers.bounded_lines import LineTooLong, bounded_lines

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
        at_once: whether the first call computes all cases, so that its error is that of all.
    """

    name: str
    run: Callable[[AnyCase], Sequence[Verdict] | NotExpressible]
    at_once: bool = False


OnRefusal = Callable[[str, str], None]
"""Takes a line that is no case: its place, as `cases.jsonl:7`, and why."""


def stop(place: str, why: str) -> None:
    """Raise at the first line that is no case."""
    msg = f"{place}: {why}"
    raise CaseError(msg)


def case_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the non-blank lines with their numbers, from 1.

    Raises:
        CaseError: the file cannot be read.
    """
    try:
        for number, line in bounded_lines(path):
            if line.strip():
                yield number, line.rstrip(b"\r\n")
    except (OSError, LineTooLong) as error:
        msg = f"{path} cannot be read: {error}"
        raise CaseError(msg) from None


def read_rows(
    path: Path,
    kind: type[Row],
    refusal: str,
    refused: OnRefusal = stop,
    check: Callable[[Row], object] | None = None,
) -> Iterator[Row]:
    """Read a file whose lines are of one kind.

    Args:
        refusal: what is said of a line that is none, as `not a case`.
        refused: takes such a line; by default the first one is an error.
        check: raises if a row, although well formed, cannot be used.

    Raises:
        CaseError: the file cannot be read, or a line is not of the kind; with its number.
    """
    for number, line in case_lines(path):
        try:
            row = kind.model_validate_json(line)
            if check is not None:
                check(row)
        except Exception as error:  # whatever is wrong with a line, the others are judged
            refused(f"{path}:{number}", f"{refusal}: {first_of(error)}")
        else:
            yield row


def first_of(error: Exception) -> str:
    """Return the first validation problem of a line, as short text."""
    if isinstance(error, KeyError):
        return f"lacks {error}"
    if not isinstance(error, ValidationError):
        return " ".join(str(error).split()) or type(error).__name__
    found = error.errors(include_url=False, include_input=False)
    place = ".".join(map(str, found[0]["loc"]))
    said = found[0]["msg"].removeprefix("Value error, ")
    more = f" (and {len(found) - 1} mistakes more)" if len(found) > 1 else ""
    return f"{place}: {said}{more}" if place else f"{said}{more}"
