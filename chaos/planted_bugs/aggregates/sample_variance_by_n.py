"""Sample variances that divide by n, not by n - 1.

Defect: the population's formula under the sample's name.
How one gets it: `numpy.var`, whose default is the population's.
Expected: values differ.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import computing, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.aggregates.sums import SAMPLE, Sums


class PopulationSums(Sums):
    """Uses the population's formula for both variances."""

    def spread(self, function: str) -> list[float | None]:  # noqa: D102
        return super().spread(f"{function}_pop" if function in SAMPLE else function)


BUG = planted_bug(
    planted(
        "sample_variance_by_n", names={"windowing.engine.aggregates.plan:Sums": PopulationSums}
    ),
    "deterministic",
    shows_in=some_query(computing(SAMPLE)),
)
