"""What every command shares: the console, exit codes, and errors said in one sentence."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

PASSED, FAILED, USAGE, UNKNOWN = 0, 1, 2, 3

# What commands print for people goes to standard error, results to standard output. Text is text:
# names of files and words of errors come from anywhere, and are no markup.
err = Console(stderr=True, highlight=False, markup=False, emoji=False)

# Control characters, those that turn the direction of text around, and bytes that are no text.
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_LINE_MAX, _END = 1000, 300  # characters of a line of an error, and of what ends it
_JOINERS = "\u200c\u200d"  # of scripts and emoji: text, though one sees only what they do


def plain(text: str) -> str:
    """The text with everything that a terminal would obey instead of show spelled out.

    Lines stay lines: an error may have several.
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character in "\n\t" or character in _JOINERS:
        return character
    if unicodedata.category(character) not in _UNSEEN:
        return character
    # As JSON has it, so that a line of JSON stays one of the same meaning.
    spelled = json.dumps(character)[1:-1]
    return spelled if spelled != character else f"\\u{ord(character):04x}"


def say(line: str) -> None:
    """Print one line of a result."""
    sys.stdout.write(plain(line) + "\n")


def tell(text: str) -> None:
    """Say how far it is, for whoever waits."""
    err.print(plain(text), soft_wrap=True)


def complain(text: str) -> None:
    """Print an error: one sentence, no stack trace; values in it may be of any length."""
    lines = "\n".join(map(_bearable, text.split("\n")))
    err.print(Text.assemble(("error:", "bold red"), " ", plain(lines)), soft_wrap=True)


def _bearable(line: str) -> str:
    """A line, or its beginning and its end, where the value and the rule stand."""
    if len(line) <= _LINE_MAX:
        return line
    return f"{line[: _LINE_MAX - _END]} … {line[-_END:]}"


@contextmanager
def bar(title: str, total: int | None = None) -> Iterator[Progress]:
    """A progress bar with one task; shown on a terminal only."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        progress.add_task(plain(title), total=total)
        yield progress
