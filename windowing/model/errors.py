"""Mistakes in a pipeline file, each with its location, its rule and a remedy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches

_VALUE_MAX = 80
_MESSAGE_MAX = 600
_PROBLEMS_MAX = 20
_SPECIAL = ((None, "null"), (True, "true"), (False, "false"))


def shown(value: object) -> str:
    """Return a value's text for messages, truncated if it is long."""
    # Python refuses to convert integers of thousands of digits to text.
    if isinstance(value, int) and value.bit_length() > _VALUE_MAX * 4:
        return f"a number of {value.bit_length()} bits"
    return cut(repr(value), _VALUE_MAX)


def quoted(value: object) -> str | None:
    """Return how to write a value of YAML's as text; None: it is text, or has no such spelling."""
    if value is None or isinstance(value, bool | int | float | date):
        special = next((text for one, text in _SPECIAL if one is value), None)
        written = special or (str(value) if isinstance(value, date) else shown(value))
        return f"{written} is no text to YAML: quote it, as '{written}'"
    return None


def cut(text: str, most: int) -> str:
    """Truncate a text to `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def meant(name: object, known: Iterable[object]) -> str:
    """Return `: did you mean NAME?` about a misspelled name; nothing is meant: an empty text."""
    close = close_to(name, known)
    return "" if close is None else f": did you mean {close!r}?"


def meant_or_known(name: object, known: Iterable[object]) -> str:
    """Return what is meant by an unknown name, or else which names are known."""
    known = [*known]
    return meant(name, known) or f"; known are {', '.join(map(str, known))}"


def close_to(name: object, known: Iterable[object]) -> str | None:
    """Return the known name that a misspelled one may stand for; None: there is none."""
    by_text = {str(one).casefold(): str(one) for one in known}
    close = get_close_matches(str(name).casefold(), [*by_text], 1, 0.7)
    return by_text[close[0]] if close else None


def printable(text: str) -> str:
    """Escape control characters, so that none reaches a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _visible(text: str) -> str:
    """Escape control characters, except before the lines of an excerpt, which are indented."""
    return "\n    ".join(map(printable, text.split("\n    ")))


@dataclass(frozen=True)
class Problem:
    """One mistake: where it is and which rule it breaks.

    Attributes:
        file: the pipeline file as it was named.
        line: line number from 1; 0 for the file as a whole.
        field: dotted path of the field, such as `queries.hourly.window`.
        message: the value, the rule, and an example that would be right.
    """

    file: str
    line: int
    field: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        parts = (place, cut(self.field, _VALUE_MAX), cut(self.message, _MESSAGE_MAX))
        return _visible(": ".join(part for part in parts if part))


class PipelineError(ValueError):
    """A pipeline file that cannot be used, with all problems found."""

    exit_code = 2

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        parts = [str(problem) for problem in problems[:_PROBLEMS_MAX]]
        if (more := len(problems) - _PROBLEMS_MAX) > 0:
            parts.append(f"{problems[0].file}: and {more:,} problems more: mend these first")
        super().__init__("\n".join(parts))

    def __reduce__(self) -> tuple[type[PipelineError], tuple[list[Problem]]]:
        return type(self), (self.problems,)  # for pickling between processes


class WindowError(ValueError):
    """A window that breaks a rule of the window language.

    Attributes:
        code: one of the codes of the window language, such as `E_UNIT`.
    """

    exit_code = 2

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(f"{code}: {message}")
