"""Location of the platform's packages: next to this folder, or, when installed, inside it.

At the top of site-packages, names such as `jobs` would collide with others (infra/adr/0016).
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "_platform"
"""The folder of the platform's packages when installed; a checkout has none."""

ROOMS = ("chaos", "conformance", "dags", "infra", "jobs")


def open_rooms() -> None:
    """Make the platform's packages importable, with the lowest priority."""
    if FOLDER.is_dir() and str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))


def taken() -> str | None:
    """Describe in a sentence what hides one of our packages; None: nothing."""
    for room in ROOMS if FOLDER.is_dir() else ():
        found = PathFinder.find_spec(room)
        places = [] if found is None else [found.origin, *(found.submodule_search_locations or ())]
        place = next((name for name in places if name is not None), None)
        if place is None or not Path(place).is_relative_to(FOLDER):
            return (
                f"{place} is called like a part of this command, `{room}`: take its folder from "
                "PYTHONPATH, or rename it"
            )
    return None


def remedy(error: ModuleNotFoundError) -> str | None:
    """Say what to do about a package that is not installed; None: a module of ours is missing."""
    name = (error.name or "").partition(".")[0]
    if not name or name in {"slackwater", "windowing", *ROOMS}:
        return None
    from infra.layout import PACKAGES

    return f"this needs the package {name}, which is not installed: run `{PACKAGES}`"
