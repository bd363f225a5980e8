"""An Aggregate that reports what it holds at the end of the stream.

Defect: the final marker flushes tumbling windows.
How one gets it: most other engines do so.
Expected: a report too many at the end.
"""

from __future__ import annotations

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.operator_conditions import some_operators, with_window
from chaos.planted_bugs.planted import planted
from windowing.engine.rows.operators import Aggregate
from windowing.engine.rows.policies import Marker, TumblingWindow
from windowing.model.operators.steps import AggregateStep


class FlushingAggregate(Aggregate):
    """An Aggregate that the final marker flushes."""

    def punctuate(self, marker: Marker, port: int = 0) -> None:
        """Process a punctuation, or the end of the stream."""
        super().punctuate(marker, port)
        if marker is Marker.final and isinstance(self._window, TumblingWindow):
            for key in self._window.keys:
                self._send_groups(key)


BUG = planted_bug(
    planted(
        "final_marker_flushes",
        names={"windowing.engine.rows.stages:Aggregate": FlushingAggregate},
    ),
    "deterministic",
    shows_in=some_operators(with_window("tumbling", step=(AggregateStep,))),
)
