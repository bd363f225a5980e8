"""The numbering of a user's windows: whatever it raises is said with the lane and the offset.

No fate of a record can stand in for it: which windows hold a record is what nobody else knows, and
a window that is left out makes rows that are short of records and do not show it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from windowing.engine.columns import OFFSET
from windowing.engine.wids import Flags, Ints, Numbering
from windowing.engine.windows.part import Scan
from windowing.model.registry import PluginError
from windowing.model.source import Source
from windowing.model.user.user_code import raisable, words

T = TypeVar("T")


class NumberingError(PluginError):
    """A numbering that failed.

    Attributes:
        number: the value, instant or window that it failed for.
    """

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number


class OwnNumbering(Numbering):
    """A user's numbering, with errors that say for what it failed.

    Args:
        kind: of its windows.
    """

    def __init__(self, kind: str, own: Numbering) -> None:
        self._kind, self._own = kind, own

    def open_from(self, instants: Ints) -> Ints:
        """Return the first window that has not ended by each instant."""
        return self._asked(self._own.open_from, instants)

    def last(self, values: Ints) -> Ints:
        """Return the last window whose extent holds each value."""
        return self._asked(self._own.last, values)

    def ends(self, windows: Ints) -> Ints:
        """Return the end of each window."""
        return self._asked(self._own.ends, windows)

    def bounds(self, wid: int) -> tuple[int, int]:
        """Return start and end of one window."""
        try:
            return self._own.bounds(wid)
        except raisable() as error:
            raise self._failure("bounds", wid, error) from error

    def first(self, values: Ints) -> Ints:
        """Return the first window whose extent may hold each value."""
        return self._asked(self._own.first, values)

    def outside(self, values: Ints) -> Flags:
        """Return which values lie before all windows."""
        return self._asked(self._own.outside, values)

    def after(self, windows: Ints, count: int) -> Ints:
        """Return the window that comes `count` windows after each."""
        return self._asked(self._own.after, windows, count)

    def exist(self, windows: Ints) -> Flags:
        """Return which numbers windows have."""
        return self._asked(self._own.exist, windows)

    def ended_by(self, progress: Ints) -> Ints:
        """Return the last window that has ended at a progress."""
        return self._asked(self._own.ended_by, progress)

    def _asked(self, ask: Callable[..., T], numbers: Ints, *more: int) -> T:
        try:
            return ask(numbers, *more)
        except raisable() as error:
            for one in np.unique(numbers):
                try:
                    ask(np.array([one]), *more)
                except raisable() as own:
                    raise self._failure(ask.__name__, int(one), own) from own
            # It takes each of them alone.
            raise self._failure(ask.__name__, int(numbers[0]), error) from error

    def _failure(self, method: str, number: int, error: BaseException) -> NumberingError:
        msg = f"window {self._kind}: {method} failed for {number}: {words(error)}"
        return NumberingError(msg, number)


@contextmanager
def located(scan: Scan, source: Source) -> Iterator[None]:
    """Say of what a numbering failed for, which record it belongs to: its value, or progress.

    Raises:
        PluginError: a numbering failed.
    """
    try:
        yield
    except NumberingError as error:
        of_record = (scan.values == error.number) | (scan.progress_us == error.number)
        offset = scan.data[OFFSET][int(np.argmax(of_record))]
        msg = (
            f"{source.lane(scan.partition)}, offset {offset}: {error}; no other code knows its "
            "windows: mend the class, and the run goes on from here"
        )
        raise PluginError(msg) from error
