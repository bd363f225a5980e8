"""Control records, by definition: which a lane believes, and what they say.

Source of the rules of `source.control`: `windowing/adr/0055`.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from windowing.model.control import ControlRule, outline, unsealed
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


class SignedLane(Protocol):
    """A lane, as far as signatures are concerned.

    Attributes:
        counter: of the last record whose signature was right.
    """

    name: str
    counter: int


def believed(rule: ControlRule, lanes: int, control: bytes, lane: SignedLane) -> bytes | None:
    """Return the JSON of a control record; None: it is not believed.

    It is believed if it is not too long, its signature is right and its counter new, and what it is
    about is permitted. What is no JSON object at all is not refused here.

    Args:
        rule: of the source.
        lanes: how many lanes the pipeline began with.
        control: the bytes of its headers, as `windowing.model.control.sealed` spells them.
        lane: the lane that it is in; a signature advances its counter.
    """
    found = unsealed(control)
    if rule.believe == "none":
        return None
    size = len(found.body)
    if size > rule.bytes_max(lanes, change=rule.believe == "all"):
        return None
    if rule.secret is not None:
        counter = _counter(found.counter)
        said = f"{lane.name}\n{counter}\n".encode() + found.body
        right = hmac.new(rule.secret, said, hashlib.sha256).hexdigest()
        if counter is None or found.signature != right.encode() or counter <= lane.counter:
            return None
        lane.counter = counter
    about = outline(found.body)
    if about is None:
        return found.body
    if about.change:
        permitted = rule.believe == "all" and about.names <= rule.queries
    else:
        permitted = size <= rule.bytes_max(lanes, change=False)
    return found.body if permitted else None


def _counter(text: bytes | None) -> int | None:
    """Return a counter: decimal digits without leading zeros, in 63 bits."""
    if text is None or not text.isdigit() or len(text) > 19 or text != b"%d" % int(text):
        return None
    return int(text) if int(text) < 2**63 else None
