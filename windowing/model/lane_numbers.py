"""The numbers of lanes: those of several topics are numbered together.

A topic's lanes follow those of the topics before it, and behind all are those that were added.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from windowing.model.added_lanes import AddedLane

T = TypeVar("T")


class LaneNumbers:
    """The lanes of the topics of a source.

    A part is a source of one topic, with its name, its partitions and those that joined.
    """

    @property
    def parts(self) -> tuple[Any, ...]:
        """The sources of one topic in it."""
        raise NotImplementedError

    @property
    def founding(self) -> int:
        """How many lanes the pipeline started with."""
        return sum(part.partitions - len(part.joined) for part in self.parts)

    @property
    def added_lanes(self) -> tuple[AddedLane, ...]:
        """The added lanes of all topics, in the order of their numbers."""
        added = (lane for part in self.parts for lane in part.joined)
        return tuple(sorted(added, key=lambda lane: lane.number))

    def place(self, number: int) -> tuple[Any, int]:
        """Return the source and the partition of a lane."""
        parts = self.parts
        if len(parts) == 1:
            return parts[0], number
        before = 0
        for part in parts:
            if number < before + part.founding:
                return part, number - before
            before += part.founding
        added = self.added_lanes[number - before]
        return next(part for part in parts if part.topic == added.topic), added.partition

    def lane(self, number: int) -> str:
        """Return the name of a lane, `topic/partition`; also of a foreign one."""
        if number < 0:
            partition, index = divmod(-1 - number, len(self.parts))
            return f"{self.parts[index].topic}/{partition}"
        source, partition = self.place(number)
        return f"{source.topic}/{partition}"

    def number(self, topic: str, partition: int) -> int | None:
        """Return the number of a partition's lane; None: it is not read."""
        before = 0
        for part in self.parts:
            if part.topic == topic:
                if 0 <= partition < part.founding:
                    return before + partition
                return next((j.number for j in part.joined if j.partition == partition), None)
            before += part.founding
        return None

    def by_number(self, offsets: Mapping[str, T]) -> dict[str, T]:
        """Return what is known of lanes, by name, in the order of their numbers."""
        return {lane: offsets[lane] for lane in sorted(offsets, key=self._place_of)}

    def _place_of(self, lane: str) -> tuple[bool, int | str]:
        """Return the sort key of a lane; those that are not read come last, by name."""
        topic, _, partition = lane.rpartition("/")
        number = self.number(topic, int(partition)) if partition.isdecimal() else None
        return number is None, lane if number is None else number

    def foreign(self, topic: str) -> tuple[int, int]:
        """Return `a, b`: an undeclared partition of a topic has the number `a * partition + b`.

        The number is negative, and encodes both.
        """
        names = [part.topic for part in self.parts]
        return -len(names), -1 - names.index(topic)

    @property
    def lanes(self) -> str:
        """A phrase that names the lanes, for messages."""
        return ", ".join(f"{p.topic}/0 to {p.topic}/{p.partitions - 1}" for p in self.parts)

    def refusal(self, topic: str, partition: int) -> str:
        """Return the message about a record of a foreign lane."""
        if any(part.topic == topic for part in self.parts):
            return self.undeclared(f"{topic}/{partition}")
        return f"source {topic!r}, partition {partition}: the pipeline reads {self.lanes}"

    def undeclared(self, lane: str) -> str:
        """Return the message about a partition that is not declared."""
        return (
            f"{lane} is a partition that the pipeline does not declare (it reads {self.lanes}): "
            "the set of partitions is fixed, because how a topic is partitioned decides which "
            "records are late; let a run go on with it by `slackwater topics FILE "
            "--accept-partitions`, which tells what the file is to say of it, or declare it and "
            "start a new run"
        )
