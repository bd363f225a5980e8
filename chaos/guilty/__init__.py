"""Guilty engines: the real one with one defect planted in each, for the simulator to find.

A tester that has never found anything has not been tested. Each module below has one defect that
real systems have had; its docstring says what it is, how one gets it, and the verdict that is
expected. `GUILTY` lists them by name.
"""

from chaos.guilty.guilt import Guilty
from chaos.guilty.roll import GUILTY

__all__ = ["GUILTY", "Guilty"]
