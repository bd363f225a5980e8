"""What the engine asks of windows of one's own: months since 1970, a column at a time."""

import numpy as np

from tidepool.window import Months
from windowing.engine.wids import ENDED, Ints, Numbering
from windowing.engine.windows.classes import window_parts

FARTHEST_US, FARTHEST = 2**63 - 2**40, 3_507_000  # so far, a sum stays within 64 bits


@window_parts("months")
class MonthNumbering(Numbering):
    """Numbers months by numpy's calendar, which has all the years that times may have."""

    def __init__(self, months: Months) -> None:
        self._ahead_us = months.ahead_us

    def open_from(self, instants: Ints) -> Ints:
        """Give the month in which each instant lies: months end with the next one's first day."""
        local = np.clip(instants, -FARTHEST_US, FARTHEST_US) + self._ahead_us
        return local.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)

    def last(self, values: Ints) -> Ints:
        """Give the same: a value lies in one month."""
        return self.open_from(values)

    def ends(self, windows: Ints) -> Ints:
        """Give the first instant of the next month."""
        following = np.clip(windows, -FARTHEST, FARTHEST) + 1
        ends = following.astype("datetime64[M]").astype("datetime64[us]").astype(np.int64)
        return np.where(windows >= FARTHEST, ENDED, ends - self._ahead_us)

    def bounds(self, wid: int) -> tuple[int, int]:
        """Give the first instants of a month and of the next."""
        start, end = self.ends(np.array([wid - 1, wid])).tolist()
        return start, end
