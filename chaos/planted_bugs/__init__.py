"""Planted bugs: copies of the real engine, each with one defect that the simulator must find.

A tester that has never found anything has not been tested. There is a room for each part of the
engine. A module in it plants one defect of a kind that real systems have had; its docstring says
what the defect is, how one gets it, and which verdict is expected. `PLANTED_BUGS` lists them by
name. To add one, add a module that defines `BUG`.
"""

from chaos.planted_bugs.bug import PlantedBug
from chaos.planted_bugs.registry import planted_bugs

PLANTED_BUGS = planted_bugs()

__all__ = ["PLANTED_BUGS", "PlantedBug"]
