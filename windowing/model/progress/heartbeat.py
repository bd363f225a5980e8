"""Heartbeats: bounds derived from delays, and from control records that carry a clock reading.

Source: Srivastava and Widom, "Flexible Time Management in Data Stream Systems", PODS 2004.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from windowing.model.facts import Facts
from windowing.model.lengths import duration_us
from windowing.model.progress.disorder import Disorder, generator, only_lanes
from windowing.model.progress.settings import read_mapping


@dataclass(frozen=True)
class Delays:
    """Limits of one lane's clock error and of its records' delay.

    Attributes:
        max_delay_us, min_delay_us: the range of a record's delay.
        skew_us: the largest error of the source's clock.
    """

    max_delay_us: int
    min_delay_us: int
    skew_us: int

    @classmethod
    def parse(cls, value: object) -> Delays:
        """Parse `{max_delay: 5 s, min_delay: 0 s, skew: 1 s}`; the last two are optional.

        Raises:
            ValueError: with the rule.
        """
        names = ("max_delay", "min_delay", "skew")
        what = "max_delay, min_delay, skew"
        given = read_mapping(value, what, required=("max_delay",), known=names)
        longest, shortest, skew = (duration_us(given.get(name, "0 s")) for name in names)
        if shortest > longest:
            msg = f"min_delay {given['min_delay']} is longer than max_delay {given['max_delay']}"
            raise ValueError(msg)
        return cls(longest, shortest, skew)


@generator("heartbeat")
@dataclass(frozen=True)
class Heartbeat(Disorder):
    """Bounds derived from delays: of a lane's own records, and of what heartbeats have seen.

    Attributes:
        sources: every lane by name.
    """

    name = "heartbeat"
    sources: tuple[tuple[str, Delays], ...]

    @classmethod
    def parse(cls, settings: object) -> Heartbeat:
        """Parse each lane's delays.

        Raises:
            ValueError: with the rule.
        """
        lanes = read_mapping(settings, "each lane's delays")
        if not lanes:
            msg = "name the delays of every lane, as {topic/0: {max_delay: 5 s, …}}"
            raise ValueError(msg)
        return cls(tuple((str(lane), Delays.parse(lanes[lane])) for lane in sorted(lanes)))

    @property
    def named_lanes(self) -> Collection[str]:
        """The lanes with known delays."""
        return [lane for lane, _ in self.sources]

    def without_lanes(self, gone: Collection[str]) -> Heartbeat:
        """Return the generator without the delays of some lanes."""
        return Heartbeat(only_lanes(self.sources, gone))

    def facts(self) -> Facts:
        """Return each lane's delays."""
        delays = {
            lane: [one.max_delay_us, one.min_delay_us, one.skew_us] for lane, one in self.sources
        }
        return {"heartbeat": delays}

    def explained(self, attribute: str, *, timed: bool) -> str:
        """Return a sentence about both kinds of bounds."""
        del timed
        left = "less what its delays leave open, or what heartbeats have seen"
        return f"its largest {attribute} so far, {left}"
