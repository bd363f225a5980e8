"""Which control records a lane believes, by definition: `source.control`, rule by rule.

Source: `windowing/adr/0055`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import Any, Protocol

from windowing.model.control import ControlRule, unsealed


class Signed(Protocol):
    """A lane, as far as signatures are concerned.

    Attributes:
        name: the lane's.
        counter: of the last record whose signature was right.
    """

    name: str
    counter: int


@dataclass(frozen=True)
class Believed:
    """The rule of a source.

    Attributes:
        rule: as in the file.
        lanes: how many lanes the pipeline began with.
    """

    rule: ControlRule
    lanes: int

    def body(self, control: bytes, lane: Signed) -> bytes | None:
        """Return the JSON of a control record; None: it is not believed.

        It is believed if it is not too long, its signature is right and its counter new, and what
        it is about is permitted. What is no JSON object at all is not refused here.
        """
        found, rule = unsealed(control), self.rule
        if rule.believe == "none":
            return None
        size = len(found.body)
        if size > rule.bytes_max(self.lanes, change=rule.believe == "all"):
            return None
        if rule.secret is not None:
            counter = _counter(found.counter)
            said = f"{lane.name}\n{counter}\n".encode() + found.body
            right = hmac.new(rule.secret, said, hashlib.sha256).hexdigest()
            if counter is None or found.signature != right.encode():
                return None
            if counter <= lane.counter:
                return None
            lane.counter = counter
        outline = _outline(found.body)
        if outline is None:
            return found.body
        if [*outline] != ["queries"]:
            too_long = size > rule.bytes_max(self.lanes, change=False)
            return None if too_long else found.body
        if rule.believe != "all" or _names(outline["queries"]) > rule.queries:
            return None
        return found.body


def _counter(text: bytes | None) -> int | None:
    """Return a counter: decimal digits without leading zeros, in 63 bits."""
    if text is None or not text.isdigit() or len(text) > 19 or text != b"%d" % int(text):
        return None
    return int(text) if int(text) < 2**63 else None


def _outline(body: bytes) -> dict[str, Any] | None:
    """Return a JSON object, whatever stands in it; None: it is none."""
    try:
        found = json.loads(body.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _names(queries: Any) -> int:
    """Return how many queries a change adds, or removes, whichever are more."""
    if not isinstance(queries, dict):
        return 0
    parts = [queries.get(part, {}) for part in ("add", "remove")]
    if not all(isinstance(part, dict) for part in parts):
        return 0
    return max(map(len, parts))
