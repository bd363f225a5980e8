"""Control records: heartbeats, punctuations and the end of a lane, in band.

A control record's JSON has one of four shapes; an engine honours those that its generator
understands and passes over the others.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from windowing.spec.lengths import INT64_MAX, INT64_MIN


@dataclass(frozen=True)
class Control:
    """What a control record says.

    Attributes:
        bound_us: no record below this instant follows in the lane; None if it does not say so.
        end: nothing follows in the lane.
    """

    bound_us: int | None = None
    end: bool = False


class ControlError(ValueError):
    """A control record of none of the known shapes."""


def read_control(text: bytes | str) -> Control:
    """Read a control record's JSON.

    Raises:
        ControlError: with the text and the shapes that are legal.
    """
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    control = _shape(parsed) if isinstance(parsed, dict) else None
    if control is None:
        msg = (
            f'{text!r} is not a control record: write {{"bound": us}}, {{"bound": us, "on": …}}, '
            f'{{"now": us, "seen": …}} or {{"end": true}}'
        )
        raise ControlError(msg)
    return control


def _shape(parsed: dict[str, Any]) -> Control | None:
    names = set(parsed)
    if names == {"end"}:
        return Control(end=True) if parsed["end"] is True else None
    if names == {"bound"}:
        return Control(bound_us=parsed["bound"]) if _instant(parsed["bound"]) else None
    if names == {"bound", "on"}:
        return Control() if _instant(parsed["bound"]) and isinstance(parsed["on"], dict) else None
    if names and names <= {"now", "seen"}:
        seen = parsed.get("seen", {})
        legal = isinstance(seen, dict) and all(map(_instant, seen.values()))
        return Control() if legal and _instant(parsed.get("now", 0)) else None
    return None


def _instant(value: Any) -> bool:
    return type(value) is int and INT64_MIN <= value <= INT64_MAX
