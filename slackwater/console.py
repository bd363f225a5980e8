"""Shared by all commands: the console, exit codes, and one-sentence errors."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

PASSED, FAILED, USAGE, UNKNOWN = 0, 1, 2, 3

# Control characters, those that change text direction, and bytes that are not text.
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_LINE_MAX, _END = 1000, 300  # maximum length of a line of an error, and of the part kept at its end
_WIDEST = 10**6  # maximum width of a table
_JOINERS = "\u200c\u200d"  # used by scripts and emoji: invisible, but text


def plain(text: str) -> str:
    """Escape everything that a terminal would interpret, except line ends and tabs."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character in "\n\t" or character in _JOINERS:
        return character
    if unicodedata.category(character) not in _UNSEEN:
        return character
    # As in JSON, so that a line of JSON keeps its meaning.
    spelled = json.dumps(character)[1:-1]
    return spelled if spelled != character else f"\\u{ord(character):04x}"


def say(line: str) -> None:
    """Print one line of a result."""
    sys.stdout.write(plain(line) + "\n")


@cache
def err() -> Console:
    """Return the console for messages to people: standard error; results go to standard output."""
    from rich.console import Console

    # Markup is off: file names and error texts come from anywhere.
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def show(table: Table, *, stderr: bool = False) -> None:
    """Print a table, as wide as it is: what can be copied is never cut.

    Only columns with `overflow="fold"` hold prose, which wraps where a terminal is too narrow.
    """
    from rich.console import Console
    from rich.measure import Measurement

    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    table.columns = [replace(one, no_wrap=one.overflow != "fold") for one in table.columns]
    unbounded = console.options.update(max_width=_WIDEST)
    least, most = Measurement.get(console, unbounded, table)
    wanted = min(most, console.width) if console.is_terminal else most
    console.width = max(wanted, least)
    console.print(table, crop=False)


def tell(text: str) -> None:
    """Report progress to the user."""
    err().print(plain(text), soft_wrap=True)


def complain(text: str) -> None:
    """Print an error: one sentence, no stack trace; long values are shortened."""
    from rich.text import Text

    lines = "\n".join(map(_bearable, text.split("\n")))
    err().print(Text.assemble(("error:", "bold red"), " ", plain(lines)), soft_wrap=True)


def report(component: str, message: str, seconds: float) -> None:
    """Print one step of a start or a stop."""
    from rich.text import Text

    name = (f"{plain(component):<8}", "cyan")
    err().print(Text.assemble(f"  {seconds:6.1f} s  ", name, f" {plain(message)}"), soft_wrap=True)


def _bearable(line: str) -> str:
    """Return a line, or its beginning and its end, which hold the value and the rule."""
    if len(line) <= _LINE_MAX:
        return line
    return f"{line[: _LINE_MAX - _END]} … {line[-_END:]}"


@contextmanager
def bar(title: str, total: int | None = None) -> Iterator[Progress]:
    """Create a progress bar with one task; it shows only on a terminal."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=err(), transient=True, disable=not err().is_terminal
    ) as progress:
        progress.add_task(plain(title), total=total)
        yield progress
