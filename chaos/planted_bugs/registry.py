"""The registry of planted bugs: every module in the rooms below that defines one."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

import chaos.planted_bugs as package
from chaos.planted_bugs.bug import PlantedBug


def planted_bugs() -> dict[str, PlantedBug]:
    """Return all planted bugs by name, room by room."""
    found: dict[str, PlantedBug] = {}
    for module in walk_packages(package.__path__, "chaos.planted_bugs."):
        # Bugs are in rooms; the modules beside the rooms support them.
        if module.name.count(".") == 3:
            one = getattr(import_module(module.name), "BUG", None)
            if isinstance(one, PlantedBug):
                found[one.name] = one
    return found
