"""What a path in a value means: the definition's own way to what is inside of a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from windowing.model.paths import Path

ELSEWHERE: Final = object()
"""What no path can lead through: of no type, and not null."""


def at_path(value: Any, path: Path) -> Any:
    """Return what is there; None for nothing, and `ELSEWHERE` behind what has no such parts."""
    if value is None or not path:
        return value
    step, rest = path[0], path[1:]
    match value, step:
        case Mapping(), str():
            return at_path(value.get(step), rest)
        case [*items], int():
            return at_path(items[step], rest) if step < len(items) else None
    return ELSEWHERE
