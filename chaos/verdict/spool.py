"""Lists that may be longer than memory: their values lie in files once there are many."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Shelf:
    """Spools that together keep a bounded number of values in memory; a context manager.

    Leaving it deletes all files.

    Args:
        values_max: number of values in memory, of all spools together.
        folder: where a temporary folder is made, if one is needed; None: the system's place.
    """

    def __init__(self, values_max: int, folder: Path | None = None) -> None:
        self._values_max, self._parent = values_max, folder
        self._folder: TemporaryDirectory[str] | None = None
        self._spools: list[Spool[Any]] = []
        self._held = 0

    def __enter__(self) -> Shelf:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def added(self, spool: Spool[Any]) -> None:
        """Account for one more value in memory; write them all to files if they are too many."""
        self._held += 1
        if len(spool.held) == 1:
            self._spools.append(spool)
        if self._held > self._values_max:
            self.write()

    def write(self) -> None:
        """Write to files what is in memory."""
        for spool in self._spools:
            spool.write()
        self._spools, self._held = [], 0

    def file(self, number: int) -> Path:
        """Return the path of a spool's file."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="slackwater-verify-", dir=self._parent)
        return Path(self._folder.name, f"{number}.jsonl")


class Spool(Generic[T]):
    """A list that only grows, until it is dropped.

    Attributes:
        held: its last values, which are in memory.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self.held: list[T] = []
        self._written = 0
        self._file: Path | None = None

    def append(self, value: T) -> None:
        """Add a value: a number, a text, None, or a tuple of such values."""
        self.held.append(value)
        self._shelf.added(self)

    def __len__(self) -> int:
        return self._written + len(self.held)

    def __iter__(self) -> Iterator[T]:
        if self._file is not None:
            with self._file.open(encoding="ascii") as file:
                # What is in memory may be written while others read here.
                read = 0
                while read < self._written:
                    yield tuples(json.loads(file.readline()))
                    read += 1
        yield from self.held

    def write(self) -> None:
        """Write to its file what is in memory."""
        if self.held:
            self._file = self._shelf.file(id(self))
            with self._file.open("a", encoding="ascii") as file:
                # Escaped, so that lone surrogates pass, too.
                file.writelines(json.dumps(value) + "\n" for value in self.held)
            self._written += len(self.held)
            self.held = []

    def drop(self) -> None:
        """Forget all values."""
        if self._file is not None:
            self._file.unlink()
        self._file, self._written, self.held = None, 0, []


def tuples(value: Any) -> Any:
    """Return a JSON value with tuples for its lists."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value
