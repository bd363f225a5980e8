"""What products do beyond SECRET: keys, watermarks, late tuples, sessions, updates.

Rules confirmed by replaying recorded outputs of Flink 1.6.0, Beam 2.6.0 and Kafka Streams 2.0.0.
Windows are `[start, end)`, starts are multiples of the slide.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Element(NamedTuple):
    """A tuple of a product's input.

    Attributes:
        number: its id, in order of arrival.
        key: None: windows are not keyed.
        watermark: the watermark sent after it; None: none is.
    """

    number: int
    time: int
    key: str | None
    watermark: int | None = None


class Firing(NamedTuple):
    """A window's content, as sent.

    Attributes:
        start, end: bounds, the end excluded (Kafka's sessions: included); None: a count window.
        content: ids in order of arrival; empty: a session is withdrawn.
        key: None: windows are not keyed.
    """

    start: int | None
    end: int | None
    content: tuple[int, ...]
    key: str | None


@dataclass
class _OpenWindow:
    start: int
    end: int
    key: str | None
    content: list[int] = field(default_factory=list)

    def fired(self) -> Firing:
        return Firing(self.start, self.end, tuple(self.content), self.key)


def flink_windows(
    elements: Iterable[Element], size: int, slide: int, lateness: int
) -> Iterator[Firing]:
    """Yield what Flink's sliding windows send; at the end of the input, all that is open."""
    opened: dict[tuple[int, str | None], _OpenWindow] = {}
    unfired: set[tuple[int, str | None]] = set()
    watermark = -math.inf
    for element in elements:
        for start in reversed(_starts(element.time, size, slide)):
            end = start + size
            if end - 1 + lateness <= watermark:
                continue
            place = (start, element.key)
            window = opened.setdefault(place, _OpenWindow(start, end, element.key))
            window.content.append(element.number)
            if end - 1 <= watermark:
                yield window.fired()
            else:
                unfired.add(place)
        if element.watermark is not None:
            watermark = max(watermark, element.watermark)
            yield from _due(opened, unfired, watermark)
    yield from _due(opened, unfired, math.inf)


def _due(
    opened: dict[tuple[int, str | None], _OpenWindow],
    unfired: set[tuple[int, str | None]],
    watermark: float,
) -> Iterator[Firing]:
    """Yield the windows that a watermark completes, in ascending order of their ends."""
    due = [place for place in unfired if opened[place].end - 1 <= watermark]
    unfired.difference_update(due)
    for place in sorted(due, key=lambda one: (one[0], one[1] or "")):
        yield opened[place].fired()


def flink_counts(elements: Iterable[Element], size: int, slide: int) -> Iterator[Firing]:
    """Yield what Flink's count windows send: at every slide-th element of a key, the last ones."""
    last: dict[str | None, deque[int]] = {}
    seen: dict[str | None, int] = {}
    for element in elements:
        key = element.key
        content = last.setdefault(key, deque(maxlen=size))
        content.append(element.number)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] % slide == 0:
            yield Firing(None, None, tuple(content), key)


def flink_sessions(elements: Iterable[Element], gap: int, lateness: int) -> Iterator[Firing]:
    """Yield what Flink's sessions send; sessions that overlap or touch are merged."""
    opened: list[_OpenWindow] = []
    unfired: list[_OpenWindow] = []
    watermark = -math.inf
    for element in elements:
        near = [one for one in opened if one.key == element.key and _touches(one, element, gap)]
        merged = _OpenWindow(
            min([element.time, *(one.start for one in near)]),
            max([element.time + gap, *(one.end for one in near)]),
            element.key,
            sorted([element.number, *(number for one in near for number in one.content)]),
        )
        # The merged session decides whether the element is late.
        if merged.end - 1 + lateness > watermark:
            opened = [one for one in opened if one not in near] + [merged]
            unfired = [one for one in unfired if one not in near]
            if merged.end - 1 <= watermark:
                yield merged.fired()
            else:
                unfired.append(merged)
        if element.watermark is not None:
            watermark = max(watermark, element.watermark)
            due = [one for one in unfired if one.end - 1 <= watermark]
            unfired = [one for one in unfired if one.end - 1 > watermark]
            opened = [one for one in opened if one.end - 1 + lateness > watermark]
            yield from (one.fired() for one in sorted(due, key=_by_end))
    yield from (one.fired() for one in sorted(unfired, key=_by_end))


def _touches(session: _OpenWindow, element: Element, gap: int) -> bool:
    return session.start <= element.time + gap and element.time <= session.end


def _by_end(session: _OpenWindow) -> tuple[int, str]:
    return session.end, session.key or ""


def kafka_windows(elements: Iterable[Element], size: int, slide: int) -> Iterator[Firing]:
    """Yield what Kafka Streams sends: an update of each window that holds the tuple."""
    opened: dict[tuple[int, str | None], _OpenWindow] = {}
    for element in elements:
        for start in _starts(element.time, size, slide):
            if start >= 0:
                new = _OpenWindow(start, start + size, element.key)
                window = opened.setdefault((start, element.key), new)
                window.content.append(element.number)
                yield window.fired()


def kafka_sessions(elements: Iterable[Element], gap: int) -> Iterator[Firing]:
    """Yield what Kafka Streams 2.0.0 sends of sessions `[first, last]`.

    Each change first withdraws every session that it merges. A session that ends later than a gap
    after the tuple is not found, and so not merged: visible with input out of order only.
    """
    opened: list[_OpenWindow] = []
    for element in elements:
        time = element.time
        near = [
            one
            for one in opened
            if one.key == element.key
            and one.start <= time + gap
            and time - gap <= one.end <= time + gap
        ]
        for one in sorted(near, key=lambda one: one.start):
            yield Firing(one.start, one.end, (), one.key)
        merged = _OpenWindow(
            min([time, *(one.start for one in near)]),
            max([time, *(one.end for one in near)]),
            element.key,
            sorted([element.number, *(number for one in near for number in one.content)]),
        )
        opened = [one for one in opened if one not in near] + [merged]
        yield merged.fired()


def beam_windows(
    elements: Iterable[Element], size: int, slide: int, lateness: int, *, accumulating: bool
) -> Iterator[Firing]:
    """Yield the panes of Beam: one on time, and one for each late element.

    An element is dropped once its window's last instant plus the lateness is behind the watermark.
    """
    opened: dict[int, _OpenWindow] = {}
    unfired: set[int] = set()
    watermark = -math.inf
    for element in elements:
        for start in _starts(element.time, size, slide):
            last = start + size - 1
            if last + lateness < watermark:
                continue
            window = opened.setdefault(start, _OpenWindow(start, start + size, None))
            window.content.append(element.number)
            if last >= watermark:
                unfired.add(start)
            else:
                yield (
                    window.fired()
                    if accumulating
                    else Firing(start, window.end, (element.number,), None)
                )
        if element.watermark is not None:
            watermark = max(watermark, element.watermark)
            due = sorted(start for start in unfired if start + size - 1 < watermark)
            unfired.difference_update(due)
            yield from (opened[start].fired() for start in due)
    yield from (opened[start].fired() for start in sorted(unfired))


def _starts(time: int, size: int, slide: int) -> Sequence[int]:
    """Return the starts of the windows that hold a time, ascending."""
    newest = time // slide * slide
    return range(newest - (newest - (time - size + 1)) // slide * slide, newest + 1, slide)
