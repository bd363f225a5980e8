"""Control records: bounds, observations, and the end of a lane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from windowing.model.control import outline
from windowing.model.file.changes import Change, read_change
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.progress import Heartbeat
from windowing.semantics.json_objects import parse_object


@dataclass(frozen=True)
class Bound:
    """A promise in the log: no more records with a time below `bound_us` in this lane.

    Attributes:
        bound_us: the instant, exclusive: records at it may still come.
        on: field and value, if it applies only to records with that value.
    """

    bound_us: int
    on: Mapping[str, object] | None = None


@dataclass(frozen=True)
class Observation:
    """What a heartbeat emitter knew when it wrote into this lane.

    Attributes:
        now_us: its clock, or None.
        seen_us: by lane, the time of a record that had arrived.
    """

    now_us: int | None
    seen_us: Mapping[str, int]


Control = Bound | Observation | Change | Literal["end", "ignored"]


def read_control(control: bytes) -> Control | None:
    """Parse a control record; the generator decides which shapes count.

    Args:
        control: JSON, such as `{"bound": 5000000}` (microseconds) or `{"end": true}`.

    Returns:
        None: it is not a JSON object of a known shape.
    """
    about = outline(control)
    if about is None:
        return None
    if about.change:
        return read_change(control)
    fields = parse_object(control)
    if fields is None:
        return None
    names = set(fields)
    if names == {"end"}:
        return "end" if fields["end"] is True else None
    if names in ({"bound"}, {"bound", "on"}):
        on = fields.get("on", {})
        if not _is_instant(fields["bound"]) or not isinstance(on, dict):
            return None
        return Bound(fields["bound"], on if "on" in fields else None)
    if names and names <= {"now", "seen"}:
        seen = fields.get("seen", {})
        if isinstance(seen, dict) and all(map(_is_instant, (fields.get("now", 0), *seen.values()))):
            return Observation(fields.get("now"), seen)
    return None


def _is_instant(value: object) -> bool:
    return type(value) is int and INT64_MIN <= value <= INT64_MAX


def reached(disorder: Heartbeat, seen: Observation) -> int | None:
    """Return the latest instant that true time had reached, per an observation; None: unknown."""
    sources = dict(disorder.sources)
    known = [] if seen.now_us is None else [seen.now_us]
    for lane, ts_us in seen.seen_us.items():
        if lane in sources:
            known.append(ts_us + sources[lane].min_delay_us - sources[lane].skew_us)
    return max(known, default=None)
