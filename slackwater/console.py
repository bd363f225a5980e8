"""What every command shares: the console, exit codes, and errors said in one sentence."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

PASSED, FAILED, USAGE, UNKNOWN = 0, 1, 2, 3

# What commands print for people goes to standard error, results to standard output.
err = Console(stderr=True, highlight=False)


def say(line: str) -> None:
    """Print one line of a result."""
    sys.stdout.write(line + "\n")


def tell(text: str) -> None:
    """Say how far it is, for whoever waits."""
    err.print(text, markup=False, soft_wrap=True)


def complain(text: str) -> None:
    """Print an error: one sentence, no stack trace."""
    err.print(f"[bold red]error:[/] {_plain(text)}", soft_wrap=True)


def _plain(text: str) -> str:
    return text.replace("[", "\\[")


def end_politely() -> None:
    """Have SIGTERM unwind the program as an error does: what it started is to be stopped."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


@contextmanager
def bar(title: str, total: int | None = None) -> Iterator[Progress]:
    """A progress bar with one task; shown on a terminal only."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        progress.add_task(title, total=total)
        yield progress
