"""Mistakes in a pipeline file, each with its place, its rule and a way out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One mistake: where it is and which rule it breaks.

    Attributes:
        file: the pipeline file as it was named.
        line: line number from 1; 0 where the file as a whole is meant.
        field: dotted path of the field, such as `queries.hourly.window`.
        message: the value, the rule, and an example that would be right.
    """

    file: str
    line: int
    field: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return (
            f"{place}: {self.field}: {self.message}" if self.field else f"{place}: {self.message}"
        )


class PipelineError(ValueError):
    """A pipeline file that cannot be used; lists every problem that was found."""

    exit_code = 2

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class WindowError(ValueError):
    """A window that breaks a rule of the window language.

    Attributes:
        code: one of the codes of the window language, such as `E_UNIT`.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(f"{code}: {message}")
