"""Reports that are numbered from zero again after a restart.

Defect: the number of the next report is not part of the state.
How one gets it: the counter belongs to the host, and only operators are saved.
Expected: two reports with one identity.
"""

from __future__ import annotations

from collections.abc import Callable

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.operator_conditions import some_operators
from chaos.planted_bugs.planted import planted
from windowing.engine.rows.hosted import UnitHost
from windowing.engine.rows.tuples import Place, RecordTuple
from windowing.model.operators.query import OperatorQuery


class RenumberingHost(UnitHost):
    """A unit that counts its reports from zero after each restart."""

    @classmethod
    def restored(
        cls,
        query: OperatorQuery,
        event_time: str,
        state: str,
        record: Callable[[Place], RecordTuple],
    ) -> UnitHost:
        """Restore a snapshot without its number."""
        host = super().restored(query, event_time, state, record)
        host._number = 0
        return host


BUG = planted_bug(
    planted(
        "reports_numbered_anew",
        names={"windowing.engine.rows.units:UnitHost": RenumberingHost},
    ),
    *("deterministic", "exactly once"),
    shows_in=some_operators(),
)
