"""Variances computed in doubles as the mean of squares minus the square of the mean.

Defect: it subtracts two large numbers that agree in all but their last digits.
How one gets it: the textbook formula.
Expected: values differ, and may be below zero.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates.sums import SAMPLE, SPREAD, Sums


class TextbookSums(Sums):
    """Computes the textbook formula in doubles."""

    def spread(self, function: str) -> list[float | None]:  # noqa: D102
        less, unit = (1 if function in SAMPLE else 0), 1 << self.shift
        found: list[float | None] = []
        for (total, n), square in zip(self.each(), self.squares, strict=True):
            if n <= less:
                found.append(None)
                continue
            try:
                mean, squares = total / unit / n, square / unit / unit / n
            except OverflowError:
                mean, squares = 0.0, 0.0
            variance = max((squares - mean * mean) * n / (n - less), 0.0)
            found.append(variance**0.5 if function.startswith("stddev") else variance)
        return found


BUG = planted_bug(
    planted(
        "variance_of_differences", names={"windowing.engine.aggregates.plan:Sums": TextbookSums}
    ),
    "deterministic",
    shows_in=some_query(computing(SPREAD)),
)
