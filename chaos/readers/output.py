"""The output of a pipeline, from files or tables, in a form that can be compared.

A row is represented by its line in OUT.jsonl, and a dead letter by its line in OUT.dead.jsonl: two
outputs are equal iff their lines are. `read_files` reads those of files; `chaos.readers.delta` and
`chaos.readers.postgres` read tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.readers.bounded_lines import bounded_lines
from windowing.model.fates import Counts
from windowing.model.rows import DeadLetter, Row, dead_letter_line, row_line

Identity = tuple[str, ...]
"""The unique identity of a line, each part as JSON: (query, window_id, key, pane, revision), plus
"retract" if the row retracts that one; for a dead letter (source, partition, offset, query)."""

Line = tuple[Identity, str]
"""A line of an output with its identity."""

RETRACT = "retract"
"""The `op` of a row that retracts another one."""


class OutputError(ValueError):
    """An output that cannot be read: no such file, table or run, or not in the format."""

    exit_code = 2


class DamagedOutput(OutputError):
    """An output that exists but is damaged."""

    exit_code = 1


@dataclass(frozen=True)
class Output:
    """The output of one run.

    Attributes:
        rows, dead: every line with its identity, in the order read; can be iterated over again.
        counts: the run's own counts by query; None if it keeps none (files).
        ordered: whether the order of the lines matters (files).
        name: its origin, for messages.
    """

    rows: Iterable[Line]
    dead: Iterable[Line]
    counts: dict[str, Counts] | None
    ordered: bool
    name: str


def row_identity(row: Row) -> Identity:
    """Return the identity of a row within its run."""
    taken_back = [RETRACT] if row.retracts else []
    return _identity((row.query, row.window_id, row.key, row.pane, row.revision, *taken_back))


def dead_letter_identity(letter: DeadLetter) -> Identity:
    """Return the identity of a dead letter within its run."""
    return _identity((letter.source, letter.partition, letter.offset, letter.query))


def output_of(rows: Iterable[Row], dead: Iterable[DeadLetter], name: str) -> Output:
    """Make an output of what an engine in this process emitted, without order or counts."""
    return Output(
        rows=[(row_identity(row), row_line(row)) for row in rows],
        dead=[(dead_letter_identity(letter), dead_letter_line(letter)) for letter in dead],
        counts=None,
        ordered=False,
        name=name,
    )


def count_dead(letters: Iterable[tuple[Identity, str]], query: str) -> int:
    """Count a query's dead letters: its own, and bad values, which count for every query."""
    concerned = {json.dumps(None), json.dumps(query)}
    return sum(1 for identity, _ in letters if identity[-1] in concerned)


def _identity(parts: Iterable[object]) -> Identity:
    # As text, since a broken output may hold anything, and to Python 1, 1.0 and True are equal.
    # An int's text is its JSON, and `json` takes four times as long to say so.
    return tuple(
        str(part) if type(part) is int else json.dumps(part, default=_digits) for part in parts
    )


def _digits(value: Any) -> str:
    """Return a decimal as a row has it."""
    return f"{value:f}"


# --- files -----------------------------------------------------------------------------------


def read_files(path: str | Path) -> Output:
    """Read OUT.jsonl and the OUT.dead.jsonl beside it.

    Raises:
        OutputError: a file is missing, or a line is not a row or dead letter of the format.
    """
    rows_file = Path(path)
    rows, dead = _FileLines(rows_file, _ROW), _FileLines(dead_letters_file(rows_file), _DEAD)
    rows.check()
    dead.check()
    return Output(rows, dead, counts=None, ordered=True, name=str(rows_file))


def dead_letters_file(path: Path) -> Path:
    """Return the path of the dead letters that belong to a file of rows."""
    return path.with_name(path.name.removesuffix(".jsonl") + ".dead.jsonl")


_ROW = ("query", "window_id", "key", "pane", "revision")
_DEAD = ("source", "partition", "offset", "query")
_EXPLAINED = frozenset({"field", "value", "rule"})
"""What `run --explain-dead` adds for people; the definition does not say it."""


def _unexplained(fields: dict[str, object], line: str) -> str:
    """Return the line of a dead letter without what explains it."""
    if not fields.keys() >= _EXPLAINED:
        return line
    known = {name: own for name, own in fields.items() if name not in _EXPLAINED}
    return json.dumps(known, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class _FileLines:
    """The lines of a file, read anew each time.

    Attributes:
        names: what each line must have.
    """

    path: Path
    names: tuple[str, ...]

    def check(self) -> None:
        """Read the file once.

        Raises:
            OutputError: it cannot be read, or a line is not of the format.
        """
        for _ in self:
            pass

    def __iter__(self) -> Iterator[Line]:
        for number, line in self._texts():
            try:
                fields = json.loads(line)
            except (ValueError, RecursionError):
                fields = None
            if not isinstance(fields, dict) or any(name not in fields for name in self.names):
                needed = ", ".join(self.names)
                msg = f"{self.path}:{number}: not a line of the format: it needs {needed}"
                raise OutputError(msg)
            marks = [fields["op"]] if "op" in fields else []
            known = line if self.names is _ROW else _unexplained(fields, line)
            yield _identity([*(fields[name] for name in self.names), *marks]), known

    def _texts(self) -> Iterator[tuple[int, str]]:
        try:
            for number, line in bounded_lines(self.path):
                if not line.endswith(b"\n"):
                    msg = (
                        f"{self.path}: the last line has no end: was the run that wrote it cut off?"
                    )
                    raise OutputError(msg)
                yield number, line[:-1].decode("utf-8")
        except OutputError:
            raise
        except (OSError, ValueError) as error:
            msg = (
                f"{self.path}: the output file cannot be read ({error}): give the file that `run` "
                "wrote"
            )
            raise OutputError(msg) from None
