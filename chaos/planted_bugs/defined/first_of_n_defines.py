"""Slide by n tuples where the first of n records defines a window, not the n-th.

Defect: `i mod n = 0` instead of `(i + 1) mod n = 0`.
How one gets it: counting from 1 on one side, from 0 on the other.
Expected: other windows.
"""

from __future__ import annotations

from dataclasses import replace

from chaos.planted_bugs.bug import planted_bug
from chaos.planted_bugs.conditions import by_n, some_query
from chaos.planted_bugs.planted import planted
from windowing.engine.wids import Flags
from windowing.engine.windows.by_record import AtRecordsLanePart
from windowing.engine.windows.part import Scan


class FirstLanePart(AtRecordsLanePart):
    """Gives each record the number of the previous one."""

    def _definers(self, scan: Scan) -> Flags:
        if scan.numbers is None:
            return super()._definers(scan)
        return super()._definers(replace(scan, numbers=scan.numbers - 1))


BUG = planted_bug(
    planted("first_of_n_defines", FirstLanePart), "deterministic", shows_in=some_query(by_n)
)
