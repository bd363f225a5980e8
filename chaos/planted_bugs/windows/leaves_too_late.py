"""A query that leaves and still shows the windows that were open.

Defect: its last window is the last that begins before its `until`.
How one gets it: no new window is opened after `until`, and those that are open are finished.
Expected: rows of windows that end after `until`.
"""

from __future__ import annotations

from typing import Self

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.windows.active import ActiveWindows
from windowing.model.file.pipeline import Pipeline, Query
from windowing.model.windows.sliding import Sliding
from windowing.model.windows.window import Window


def leaves(_: Pipeline, query: Query) -> bool:
    """Whether a query leaves."""
    active = query.window.active
    return active is not None and active.until_us is not None


class Lingering(ActiveWindows):
    """Ends with the windows that were open."""

    @classmethod
    def of(cls, window: Window) -> Self | None:  # noqa: D102
        found, active = super().of(window), window.active
        if found is None or active is None or active.until_us is None:
            return found
        assert isinstance(window, Sliding)  # noqa: S101 - no others are active for a while
        more = -(-window.range_ // window.slide)
        return cls(found.first, found.last + more, found.begins)


BUG = planted_bug(
    planted(
        "leaves_too_late",
        names={
            "windowing.engine.windows.sliding_lane:ActiveWindows": Lingering,
            "windowing.engine.windows.sliding:ActiveWindows": Lingering,
        },
    ),
    "deterministic",
    "conservation",
    "dead letters",
    shows_in=some_query(leaves),
)
