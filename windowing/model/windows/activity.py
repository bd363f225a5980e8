"""The activity of a query: which of its windows there are, if it does not run for ever.

A query that joins a stream, or leaves it, has exactly the rows of one that runs for ever,
restricted to the windows of its activity. Neither origin nor phase of windows depends on it.

Source: Salehi et al., "Knowing when to slide" (run-time join and leave); that activity is a span of
event time, and the two ways of warming up, are ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from windowing.model.errors import shown
from windowing.model.facts import Facts, without_defaults
from windowing.model.lengths import LENGTH_MAX, duration_us, instant_us

Warmup = Literal["skip", "emit"]
"""What is done with windows that begin before a query does: left out, or shown in part."""

Places = tuple[tuple[str, int], ...]
"""The offset of a record in each lane, sorted by the lanes' names."""

_LENGTH = re.compile(r"\s*[+-]?[0-9.]+\s*[A-Za-z]+\s*")


def parse_moment(value: object) -> int:
    """Parse an instant: an ISO time, a length of time since 1970, or microseconds since then.

    Raises:
        ValueError: none of these, or beyond 2^59 us of 1970.
    """
    if type(value) is int:
        moment = value
    elif isinstance(value, str) and _LENGTH.fullmatch(value):
        moment = duration_us(value, minimum_us=-LENGTH_MAX)
    else:
        moment = instant_us(value)
    if abs(moment) > LENGTH_MAX:
        msg = f"{shown(value)} is out of range: it must lie within {LENGTH_MAX} us (2^59) of 1970"
        raise ValueError(msg)
    return moment


@dataclass(frozen=True)
class Activity:
    """A span of event time in which a query is active.

    Attributes:
        begins_us: no window holds an earlier record; None: it has always been there.
        until_us: no window ends later; None: it never leaves.
        warmup: `skip`: no window begins before `begins_us` either; `emit`: those that end after it
            are there, and begin there, like the first ones after an origin.
        joined: by lane, the offset of the record that added it, and behind which the lane takes
            part; None: a file did, and all lanes do.
        lacking: the lanes that never took that record; with any, it has no rows.
        left: by lane, the offset of the record that removed it, behind which `until_us` decides
            what becomes of the lane's records; None: a file did, and it always does.
    """

    begins_us: int | None = None
    until_us: int | None = None
    warmup: Warmup = "skip"
    joined: Places | None = None
    lacking: tuple[str, ...] = ()
    left: Places | None = None
    later: Places = ()

    def facts(self) -> Facts:
        """Return the facts for the fingerprint; their names are a format."""
        facts: Facts = {
            "from": self.begins_us,
            "until": self.until_us,
            "warmup": self.warmup,
            "joined": None if self.joined is None else dict(self.joined),
            "left": None if self.left is None else dict(self.left),
            "later": dict(self.later),
        }
        absent: Facts = {"from": None, "until": None, "joined": None, "left": None, "later": {}}
        return without_defaults(facts, {**absent, "warmup": "skip"})

    def joins_at(self, lane: str) -> int | None:
        """Return the offset behind which a lane takes part; None: it never does."""
        return -1 if self.joined is None else dict(self.joined).get(lane)

    def leaves_at(self, lane: str) -> int | None:
        """Return the offset behind which `until_us` decides in a lane; None: it never does."""
        return -1 if self.left is None else dict(self.left).get(lane)

    def until_in(self, lane: str) -> int | None:
        """Return the end by which a lane's records are judged; None: there is none."""
        return dict(self.later).get(lane, self.until_us)
