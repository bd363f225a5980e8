"""Lines of a user's file with a limit on their length, so that an endless line is not read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

LINE_BYTES_MAX: Final = 64 * 2**20
"""Maximum length of a line; no record, row or case is longer."""


class LineTooLong(ValueError):
    """A line that exceeds the limit.

    Attributes:
        line: its number, from 1.
    """

    def __init__(self, line: int) -> None:
        self.line = line
        super().__init__(f"line {line} is longer than {LINE_BYTES_MAX >> 20} MiB")


def bounded_lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """Read a file line by line, including line ends.

    Yields:
        the number of each line, from 1, and its bytes.

    Raises:
        OSError: the file cannot be read.
        LineTooLong: a line is too long.
    """
    with file.open("rb") as opened:
        read = iter(lambda: opened.readline(LINE_BYTES_MAX + 1), b"")
        for number, line in enumerate(read, 1):
            if len(line) > LINE_BYTES_MAX:
                raise LineTooLong(number)
            yield number, line


def bounded_text(file: Path) -> str:
    """Read a whole text file; raise like `bounded_lines`, or UnicodeDecodeError."""
    return b"".join(line for _, line in bounded_lines(file)).decode("utf-8")
