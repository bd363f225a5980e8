"""What windows of one's own mean: it shares nothing with the engine's part but the clauses."""

from datetime import date

from windowing.semantics.windows.by_value import ByValueDefinition
from windowing.semantics.windows.classes import window_definition

DAY_US = 86_400_000_000
EPOCH = date(1970, 1, 1).toordinal()
# Python's calendar ends with the year 9999; dates come again every 400 years.
CYCLE_DAYS, CYCLE_MONTHS = 146_097, 400 * 12


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
