"""A query that joins and shows windows that were under way, as if they were whole.

Defect: the first window of a query that joins is the first that ends after its `from`.
How one gets it: the engine starts a query where it stands, and what came before is missing.
Expected: rows of windows that begin before `from`.
"""

from __future__ import annotations

from typing import Self

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import grid
from windowing.engine.windows.active import ActiveWindows
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.windows.window import Window


def joins(_: Pipeline, query: Query) -> bool:
    """Whether a query joins, and leaves the windows out that were under way."""
    active = query.window.active
    return active is not None and active.begins_us is not None and active.warmup == "skip"


class Hasty(ActiveWindows):
    """Begins with the windows that are under way."""

    @classmethod
    def of(cls, window: Window) -> Self | None:  # noqa: D102
        found, active = super().of(window), window.active
        if found is None or active is None or active.begins_us is None:
            return found
        numbers = grid(window)
        first = (active.begins_us - numbers.origin) // numbers.slide
        return cls(min(first, found.first), found.last, found.begins)


BUG = planted_bug(
    planted(
        "joins_on_the_way", names={"windowing.engine.windows.sliding_lane:ActiveWindows": Hasty}
    ),
    "deterministic",
    "conservation",
    "dead letters",
    shows_in=some_query(joins),
)
