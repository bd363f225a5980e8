"""The roll of the guilty: every module of the rooms below that plants a defect."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

import chaos.planted_bugs as house
from chaos.planted_bugs.bug import PlantedBug


def planted_bugs() -> dict[str, PlantedBug]:
    """All guilty engines by name, room by room."""
    found: dict[str, PlantedBug] = {}
    for module in walk_packages(house.__path__, "chaos.planted_bugs."):
        # A defect's module lies in a room: what lies beside the rooms serves them.
        if module.name.count(".") == 3:
            one = getattr(import_module(module.name), "BUG", None)
            if isinstance(one, PlantedBug):
                found[one.name] = one
    return found
