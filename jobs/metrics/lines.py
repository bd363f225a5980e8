"""`metrics.jsonl` in a run's folder: a line per batch, in at most two files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

LINES_FILE: Final = "metrics.jsonl"
"""Name of the file in a run's folder."""

EARLIER_FILE: Final = "metrics.1.jsonl"
"""Name of the file with the lines before those."""

BYTES_MAX: Final = 16 << 20
"""How long a file may become, in bytes; at 64 lanes and a batch per second about 40 minutes."""


class Lines:
    """The writer of a run's lines.

    Args:
        bytes_max: how long a file may become.
    """

    def __init__(self, folder: Path, bytes_max: int = BYTES_MAX) -> None:
        self._file, self._earlier = folder / LINES_FILE, folder / EARLIER_FILE
        self._bytes_max = bytes_max

    def append(self, line: Mapping[str, Any]) -> None:
        """Append a line, in one write; a full file first takes the place of the earlier one.

        Raises:
            OSError: it cannot be written.
        """
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        with self._file.open("ab") as file:
            size = file.tell()
            # What a killed driver left unfinished ends here, so that it spoils no other line.
            torn = size > 0 and not self._ends_a_line()
            if size + len(data) <= self._bytes_max or not size:
                file.write(b"\n" + data if torn else data)
                return
        self._file.replace(self._earlier)
        self._file.write_bytes(data)

    def _ends_a_line(self) -> bool:
        with self._file.open("rb") as file:
            file.seek(-1, 2)
            return file.read(1) == b"\n"


def read_lines(folder: Path) -> list[dict[str, Any]]:
    """Read a run's lines, oldest first, without lines that were torn; none if there is no file."""
    found = []
    for name in (EARLIER_FILE, LINES_FILE):
        try:
            text = (folder / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            continue
        for line in text.splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue  # a driver was killed while it wrote
    return found
