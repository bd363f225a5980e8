"""Guilty engines: the real one with one defect planted in each, for the simulator to find.

A tester that has never found anything has not been tested. There is a room for each part of the
engine; a module in it has one defect of a kind that real systems have had, and its docstring says
what it is, how one gets it, and the verdict that is expected. `GUILTY` lists them by name; a new
one is a module with a `GUILTY` of its own, and nothing else.
"""

from chaos.planted_bugs.guilt import Guilty
from chaos.planted_bugs.roll import called

GUILTY = called()

__all__ = ["GUILTY", "Guilty"]
