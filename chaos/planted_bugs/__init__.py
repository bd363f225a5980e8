"""Planted bugs: copies of the real engine, each with one defect that the simulator must find.

A tester that has never found anything has not been tested. A module for each part of the engine, or
for a topic of it, has defects of kinds that real systems have had. Each stands beside the
declaration of its name and of the checks that may find it (`planted`), under a comment that says
what it is and how one gets it. To add one, declare it in any module of this package.
"""

from importlib import import_module
from pkgutil import iter_modules

from chaos.planted_bugs.planted import PLANTED_BUGS, PlantedBug

for _room in iter_modules(__path__, f"{__name__}."):
    import_module(_room.name)

__all__ = ["PLANTED_BUGS", "PlantedBug"]
