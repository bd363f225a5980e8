"""Custom windows: calendar months, which no RANGE and no SLIDE can say.

One file registers all: the clauses in a pipeline file, what the engine asks, what the windows mean
for `verify`, and how the simulator draws them.
"""

import random
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from chaos.simulator.draw.windows import window_draw
from windowing.engine.wids import ENDED, Ints, Numbering
from windowing.engine.windows.classes import window_parts
from windowing.model.windows.registry import window
from windowing.semantics.windows.by_value import ByValueDefinition
from windowing.semantics.windows.classes import window_definition

HOUR_US = 3_600_000_000
FARTHEST_US, FARTHEST = 2**63 - 2**40, 3_507_000  # so far, a sum stays within 64 bits
DAY_US = 86_400_000_000
EPOCH = date(1970, 1, 1).toordinal()
# Python's calendar ends with the year 9999; dates come again every 400 years.
CYCLE_DAYS, CYCLE_MONTHS = 146_097, 400 * 12


@window("months")
@dataclass(frozen=True)
class Months:
    """What is under `months:` in a pipeline file.

    Attributes:
        ahead_h: by how many hours the clocks that tell the months are ahead of UTC.
    """

    ahead_h: int = 0

    def __post_init__(self) -> None:
        """Refuse clocks that nobody has."""
        if self.ahead_h not in range(-12, 15):
            raise ValueError(f"ahead_h {self.ahead_h}: clocks are from -12 to 14 hours ahead")

    @property
    def ahead_us(self) -> int:
        """The same in microseconds."""
        return self.ahead_h * HOUR_US


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


@window_definition("months")
class MonthDefinition(ByValueDefinition):
    """Calendar months, numbered from January 1970 on."""

    def extent(self, wid: int) -> tuple[int, int]:
        """Return the first instants of a month and of the next."""
        return self._begin(wid), self._begin(wid + 1)

    def wids(self, value: int) -> range:
        """Return the month in which a value lies."""
        local_us = value + self.query.window.made().ahead_us
        cycles, days = divmod(local_us // DAY_US, CYCLE_DAYS)
        day = date.fromordinal(EPOCH + days)
        month = cycles * CYCLE_MONTHS + (day.year - 1970) * 12 + day.month - 1
        return range(month, month + 1)

    def _begin(self, month: int) -> int:
        cycles, months = divmod(month, CYCLE_MONTHS)
        day = date(1970 + months // 12, months % 12 + 1, 1).toordinal() - EPOCH
        return (cycles * CYCLE_DAYS + day) * DAY_US - self.query.window.made().ahead_us


@window_draw("months")
def draw_months(rng: random.Random) -> dict[str, Any]:
    """Draw the clauses: months of UTC, or of some other clock."""
    return rng.choice([{}, {"ahead_h": rng.randint(-12, 14)}])
