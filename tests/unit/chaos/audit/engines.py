"""Small engines with their own schedule: what an audit must explain, whatever they draw."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

RANGE, SLIDE, DELAY = 20_000, 10_000, 5_000


class Event(NamedTuple):
    """A record, in the order of its arrival; times in milliseconds."""

    partition: int
    ts: int
    key: str
    v: int


class Row(NamedTuple):
    """A row of the output."""

    start: int
    key: str
    n: int
    total: int


Held = dict[tuple[int, str], list[int]]


def starts(ts: int) -> Iterator[int]:
    first = ts // SLIDE * SLIDE
    yield from range(first, ts - RANGE, -SLIDE)


def rows(held: Held, end: float = float("inf")) -> list[Row]:
    """The rows of the windows that end up to an instant."""
    due = [place for place in held if place[0] + RANGE <= end]
    return [Row(*place, len(held[place]), sum(held[place])) for place in sorted(due)]


def take(held: Held, event: Event, clock: float) -> None:
    """Put an event into the windows that have not ended."""
    for start in starts(event.ts):
        if start + RANGE > clock:
            held.setdefault((start, event.key), []).append(event.v)


def spark(events: Sequence[Event], rng: random.Random) -> list[Row]:
    """Batches as drawn, all partitions together; late by the watermark of the batch before."""
    held: Held = {}
    watermark = before = largest = 0.0
    left = list(events)
    while left:
        size = rng.choice([1, 3, 10, len(left)])
        batch, left = left[:size], left[size:]
        for event in batch:
            take(held, event, before)
            largest = max(largest, event.ts - DELAY)
        watermark, before = largest, watermark
    return rows(held, largest)


def spark_apart(events: Sequence[Event], rng: random.Random) -> list[Row]:
    """The same, but partitions may be read at any pace."""
    return spark(interleaved(events, rng), rng)


def flink(events: Sequence[Event], rng: random.Random) -> list[Row]:
    """Any interleaving of partitions, watermarks by a timer, and all windows at the end."""
    held: Held = {}
    seen: dict[int, float] = {}
    sent = -float("inf")
    partitions = {event.partition for event in events}
    for event in interleaved(events, rng):
        take(held, event, sent)
        seen[event.partition] = max(seen.get(event.partition, event.ts), event.ts)
        if len(seen) == len(partitions) and rng.random() < 0.5:
            sent = max(sent, min(seen.values()) - DELAY)
    return rows(held)


def kafka_streams(events: Sequence[Event], rng: random.Random) -> list[Row]:
    """A row for each record that a window takes; a task per partition, with its own clock."""
    held: Held = {}
    seen: dict[int, int] = {}
    found = []
    for event in interleaved(events, rng):
        clock = seen.get(event.partition, event.ts)
        before = {place: len(values) for place, values in held.items()}
        take(held, event, clock - DELAY)
        seen[event.partition] = max(clock, event.ts)
        changed = {p: v for p, v in held.items() if len(v) != before.get(p, 0)}
        found += rows(changed)
    return found


def interleaved(events: Sequence[Event], rng: random.Random) -> list[Event]:
    """The events in another order, each partition in its own."""
    left: dict[int, list[Event]] = {}
    for event in events:
        left.setdefault(event.partition, []).append(event)
    found = []
    while left:
        partition = rng.choice(sorted(left))
        found.append(left[partition].pop(0))
        if not left[partition]:
            del left[partition]
    return found


Engine = Callable[[Sequence[Event], random.Random], list[Row]]
ENGINES: dict[tuple[str, bool], Engine] = {
    ("spark-window", True): spark,
    ("spark-window", False): spark_apart,
    ("flink", False): flink,
    ("kafka-streams", False): kafka_streams,
}
"""By the name of the audit's engine, and whether it reads its partitions together."""
