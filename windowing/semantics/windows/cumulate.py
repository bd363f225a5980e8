"""Cumulating windows, by definition: each begins with its period.

With origin m, period R and slide S, where R = K·S, window w = p·K + k - 1 is the k-th of period p:

    extent(w) = [ m + pR,  m + pR + kS )        p = 0, 1, …    k = 1, …, K

Source: CUMULATE of Flink SQL's windowing table-valued functions; ids and lateness are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

from windowing.semantics.units import OutsideReason
from windowing.semantics.windows.by_value import ByValueDefinition


@dataclass(frozen=True)
class CumulateDefinition(ByValueDefinition):
    """Cumulating windows over an attribute."""

    def extent(self, wid: int) -> tuple[int, int]:
        """Return start and end, half-open, in the attribute's unit."""
        window = self.query.window
        period, step = divmod(wid, self._steps)
        start = window.origin + period * self._period
        return start, start + (step + 1) * window.slide

    def wids(self, value: int) -> range:
        """Return the windows of a value's period that end after it."""
        window = self.query.window
        if value < window.origin:
            return range(0)
        period, within = divmod(value - window.origin, self._period)
        first = period * self._steps
        return range(first + within // window.slide, first + self._steps)

    def outside(self, value: int) -> OutsideReason | None:
        """Return why a value lies in no window; None: it lies in some."""
        return "before_origin" if value < self.query.window.origin else None

    @property
    def _period(self) -> int:
        assert self.query.window.range_ is not None  # noqa: S101 - as parsed
        return self.query.window.range_

    @property
    def _steps(self) -> int:
        """How many windows a period has."""
        return self._period // self.query.window.slide
