"""Control records in the log: heartbeats, punctuations, the end of a lane.

Their JSON has one of four shapes; the engine honours ends and those that its generator uses, and
ignores the others. What is read here has passed the lane's `gate`. Changes of the queries are read
by `windowing.model.file.changes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from windowing.engine.reading.objects import BadValue, parse_object
from windowing.model.lengths import INT64_MAX, INT64_MIN
from windowing.model.progress import Delays


@dataclass(frozen=True)
class Control:
    """The content of a control record.

    Attributes:
        bound_us: no record below this instant follows in the lane; None: no bound.
        on: field and value, if the bound applies only to records with that value.
        end: nothing follows in the lane.
        now_us: the clock of a heartbeat's emitter.
        seen_us: by lane, the time of a record that the emitter knows to have arrived.
    """

    bound_us: int | None = None
    on: Mapping[str, Any] | None = None
    end: bool = False
    now_us: int | None = None
    seen_us: Mapping[str, int] = field(default_factory=dict)

    def reached_us(self, delays: Mapping[str, Delays]) -> int | None:
        """Return the latest instant that true time is known to have reached; None: unknown.

        It may exceed 64 bits by a delay.

        Args:
            delays: of each lane; empty if heartbeats are ignored.
        """
        if not delays:
            return None
        known = [] if self.now_us is None else [self.now_us]
        for lane, ts_us in self.seen_us.items():
            if lane in delays:
                known.append(ts_us + delays[lane].min_delay_us - delays[lane].skew_us)
        return max(known, default=None)


class ControlError(ValueError):
    """A control record of an unknown shape."""


def read_control(text: bytes) -> Control:
    """Parse a control record's JSON.

    Raises:
        ControlError: with the text and the shapes that are legal.
    """
    try:
        control = _shape(parse_object(text))
    except BadValue:
        control = None
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
        if not _instant(parsed["bound"]) or not isinstance(parsed["on"], dict):
            return None
        return Control(bound_us=parsed["bound"], on=parsed["on"])
    if names and names <= {"now", "seen"}:
        seen = parsed.get("seen", {})
        legal = isinstance(seen, dict) and all(map(_instant, seen.values()))
        legal = legal and _instant(parsed.get("now", 0))
        return Control(now_us=parsed.get("now"), seen_us=seen) if legal else None
    return None


def _instant(value: Any) -> bool:
    return type(value) is int and INT64_MIN <= value <= INT64_MAX
