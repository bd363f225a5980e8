"""Paths into members of values, followed one value at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windowing.model.paths import Path


class Blocked:
    """Stands for what a path does not reach, because something else is on its way.

    No type takes it.

    Attributes:
        by: what is there instead of an object or an array.
    """

    def __init__(self, by: Any) -> None:
        self.by = by


Tree = Mapping[str | int, "Tree | str"]
"""What is declared inside of a value: by key or place, more, or the name of a field."""


def tree_of(paths: Mapping[str, Path]) -> Tree:
    """Return the tree of declared fields; none is inside of another."""
    tree: dict[str | int, Any] = {}
    for name, path in paths.items():
        inside = tree
        for step in path[:-1]:
            inside = inside.setdefault(step, {})
        inside[path[-1]] = name
    return tree


def reach(members: Mapping[str, Any], path: Path) -> Any:
    """Return what a path leads to; None: it is absent or null, or something on the way is."""
    found: Any = members
    for step in path:
        if found is None:
            return None
        if isinstance(step, str):
            if not isinstance(found, Mapping):
                return Blocked(found)
            found = found.get(step)
        else:
            if not isinstance(found, list):
                return Blocked(found)
            found = found[step] if step < len(found) else None
    return found
