"""A case as it is drawn: a pipeline's text and the log of its lanes, spelled as events."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Event = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """One record of a log, as the definition takes it."""

    source: str
    partition: int
    offset: int
    value: bytes | None
    control: bytes | None
    append_us: int | None


@dataclass(frozen=True)
class Case:
    """A pipeline and a log.

    Attributes:
        pipeline: the text of the file.
        lanes: each lane's events in offset order, as dicts in the shape of EVENTS.jsonl.
    """

    pipeline: str
    lanes: tuple[tuple[Event, ...], ...]

    @property
    def events(self) -> list[Event]:
        """One order of arrival: lane after lane."""
        return [event for lane in self.lanes for event in lane]


def entry(event: Event) -> Entry:
    """Read one event; the value is spelled as Python's json spells it."""
    value = None
    if "value" in event:
        value = json.dumps(event["value"], ensure_ascii=False).encode()
    elif "raw" in event:
        value = event["raw"].encode("utf-8", "surrogatepass")
    control = json.dumps(event["control"]).encode() if "control" in event else None
    place = (event["source"], event["partition"], event["offset"])
    return Entry(*place, value, control, event.get("append_us"))


def events_text(events: list[Event]) -> str:
    """Spell events as an EVENTS.jsonl file."""
    return "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events)


@st.composite
def interleavings(draw: st.DrawFn, lanes: tuple[tuple[Event, ...], ...]) -> list[Event]:
    """An order of arrival of these lanes that keeps the order inside each."""
    turns = [number for number, lane in enumerate(lanes) for _ in lane]
    ahead = [iter(lane) for lane in lanes]
    return [next(ahead[number]) for number in draw(st.permutations(turns))]
