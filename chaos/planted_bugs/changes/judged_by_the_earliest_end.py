"""A lane that judges its records by the end that another lane has said.

Defect: a record that is in no window before the query's end is outside, whatever its lane knows.
How one gets it: a query has one end, which all of its lanes are given.
Expected: records are counted otherwise, depending on the batches.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.commanded import believing
from chaos.planted_bugs.conditions import several_lanes, some_query
from windowing.engine.windows.active import ActiveLanes
from windowing.model.source import Source
from windowing.model.windows.sliding import with_activity
from windowing.model.windows.window import Window


class Hasty(ActiveLanes):
    """Knows one end."""

    @classmethod
    def of(cls, window: Window, source: Source) -> Self | None:  # noqa: D102
        if window.active is not None:
            one_end = replace(window.active, later=())
            window = with_activity(window, one_end, timed=True)
        return super().of(window, source)


BUG = planted_bug(
    believing(
        "judged_by_the_earliest_end",
        {"windowing.engine.windows.sliding_lane:ActiveLanes": Hasty},
    ),
    *("conservation", "dead letters", "deterministic"),
    shows_in=some_query(several_lanes),
)
