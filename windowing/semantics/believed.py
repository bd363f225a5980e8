"""Which control records a lane believes, by definition: `source.control`, rule by rule.

Source: `windowing/adr/0055`.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Protocol

from windowing.model.control import ControlRule, outline, unsealed


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
        about = outline(found.body)
        if about is None:
            return found.body
        if not about.change:
            too_long = size > rule.bytes_max(self.lanes, change=False)
            return None if too_long else found.body
        if rule.believe != "all" or about.names > rule.queries:
            return None
        return found.body


def _counter(text: bytes | None) -> int | None:
    """Return a counter: decimal digits without leading zeros, in 63 bits."""
    if text is None or not text.isdigit() or len(text) > 19 or text != b"%d" % int(text):
        return None
    return int(text) if int(text) < 2**63 else None
