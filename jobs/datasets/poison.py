"""Ten records that must end as dead letters: one for each way in which a value can be bad."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Poison:
    """A record that must end as a dead letter.

    Attributes:
        what: what is wrong with it, in words.
        reason: the reason that its dead letter must give.
        value: the value; `{ts}` and `{origin}` stand for those of the flight before it, so that a
            reader that takes it by mistake gets a wrong result, not a far-off one.
    """

    what: str
    reason: str
    value: str

    def text(self, *, ts: int, origin: str) -> str:
        """Return the value as it is sent."""
        return self.value.replace("{ts}", str(ts)).replace("{origin}", origin)


_REST = '"carrier":"UA","dep_delay":0,"arr_delay":0,"cancelled":0}'

POISON = (
    Poison("the text breaks off", "malformed", '{"sched_us":{ts},"origin":"{origin}","carr'),
    Poison("an array, not an object", "malformed", '[{ts},"{origin}","UA",0,0,0]'),
    Poison("half a surrogate pair", "malformed", '{"sched_us":{ts},"origin":"\\ud800",' + _REST),
    Poison("no event time", "missing_event_time", '{"origin":"{origin}",' + _REST),
    Poison(
        "an event time in quotes",
        "bad_event_time",
        '{"sched_us":"{ts}","origin":"{origin}",' + _REST,
    ),
    Poison(
        "an event time in the year 1601",
        "time_out_of_range",
        '{"sched_us":-11644473600000000,"origin":"{origin}",' + _REST,
    ),
    Poison(
        "an event time in the year 2099: legal, but far ahead of the broker",
        "time_ahead",
        '{"sched_us":4070908800000000,"origin":"{origin}",' + _REST,
    ),
    Poison(
        "a field that nobody declared",
        "unknown_field",
        '{"sched_us":{ts},"gate":"A1","origin":"{origin}",' + _REST,
    ),
    Poison("a null key", "null_key", '{"sched_us":{ts},"origin":null,' + _REST),
    Poison(
        "a number in quotes",
        "bad_type",
        '{"sched_us":{ts},"origin":"{origin}","carrier":"UA","dep_delay":"12","arr_delay":0,'
        '"cancelled":0}',
    ),
)
"""Sent in this order, evenly spaced, each into the partition of the flight before it."""
